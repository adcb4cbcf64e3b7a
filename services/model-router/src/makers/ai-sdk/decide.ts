// Decisions: converts our questions and answers for an AI SDK decision model.
import {
  InvalidArgumentError,
  type JSONObject,
  type Experimental_DecisionModelV4Answer as SdkAnswer,
  type Experimental_DecisionModelV4Question as SdkQuestion,
  type Experimental_DecisionModelV4State as SdkState,
} from '@ai-sdk/provider';
import {
  type DecisionQuestion,
  type decisionAnswer,
  decisionQuestion,
  type decisionsRequest,
} from '@switchyard/contracts';
import type { z } from 'zod';
import { parseExactly } from '../../json/exact-integers.ts';
import { UnusableAnswer } from '../unusable-answer.ts';
import { callEach, inParts, sumOfAll } from './calls-in-parts.ts';
import { type FieldsOfType, fieldsFor } from './field-rules.ts';
import { jsonAnswer, type Translation, UnsupportedField } from './translation.ts';

const FIELDS: FieldsOfType = { read: ['state', 'questions'], known: [] };

export const answerDecisions: Translation<'decision'> = async (model, request) => {
  const { questions } = fieldsFor<z.infer<typeof decisionsRequest>>(request, FIELDS);
  const { state } = parseExactly(request.sent.body.toString('utf8')) as z.infer<typeof decisionsRequest>;
  const asked = Object.entries(questions).map(([name, one]) => [name, sdkQuestion(name, one)] as const);
  const parts = inParts(asked, request.rules.perCall ?? asked.length);
  try {
    const results = await callEach(parts, request.signal, (part, _index, abortSignal) =>
      model.doDecide({ state: sdkState(state), questions: Object.fromEntries(part), abortSignal }),
    );
    const answers = results.flatMap((result) => Object.entries(result.answers));
    const inputTokens = sumOfAll(results.map(({ usage }) => usage?.inputTokens));
    const outputTokens = sumOfAll(results.map(({ usage }) => usage?.outputTokens ?? 0));
    return jsonAnswer({
      answers: Object.fromEntries(answers.map(([name, answer]) => [name, ourAnswer(name, answer)])),
      ...(inputTokens === undefined ? {} : { usage: { inputTokens, outputTokens } }),
    });
  } catch (error) {
    // The provider package validates questions before it sends anything.
    if (InvalidArgumentError.isInstance(error)) throw new UnsupportedField('questions', error.message);
    throw error;
  }
};

function sdkState(state: string | Record<string, unknown>): SdkState {
  if (typeof state === 'string') return [{ type: 'text', text: state }];
  return [{ type: 'json', value: state as JSONObject }]; // the caller sent JSON
}

function sdkQuestion(name: string, question: unknown): SdkQuestion {
  const parsed = decisionQuestion.safeParse(question);
  if (parsed.success) return ofType(name, parsed.data);
  const [issue] = parsed.error.issues;
  throw unsupportedQuestion(name, [...(issue?.path ?? []), issue?.message].join(': '));
}

function unsupportedQuestion(name: string, why: string): UnsupportedField {
  return new UnsupportedField('questions', `questions.${name}: ${why}`);
}

function ofType(name: string, { type, instructions, options }: DecisionQuestion): SdkQuestion {
  if (type === 'boolean') {
    const described = Object.fromEntries(options.map((option) => [option.name, option.description]));
    const criteria = { true: described.true ?? null, false: described.false ?? null };
    return { type, instructions, ...(options.length > 0 ? { criteria } : {}) };
  }
  if (options.length < 2) throw unsupportedQuestion(name, 'criteria: Give at least two.');
  if (type === 'score')
    return {
      type,
      instructions,
      criteria: options.map(({ name: level, description }) => description ?? level),
    };
  return {
    type,
    instructions,
    criteria: Object.fromEntries(options.map((option) => [option.name, option.description])),
  };
}

function ourAnswer(name: string, answer: SdkAnswer): z.input<typeof decisionAnswer> {
  switch (answer.type) {
    case 'boolean':
      return { type: 'boolean', probability: answer.probability };
    case 'choice': {
      const probabilities = distributionOf(name, answer.probabilities);
      return {
        type: 'choice',
        choice: answer.choice,
        probability: probabilities[answer.choice] ?? 0,
        probabilities,
      };
    }
    case 'score': {
      const probabilities = distributionOf(name, answer.probabilities);
      const probability = Math.max(...Object.values(probabilities));
      return { type: 'score', score: answer.score, probability, probabilities };
    }
    case 'refusal':
      return { type: 'refusal', probability: 0 };
    case 'box':
      throw new UnusableAnswer(`the answer to ${name} is a box, which was not asked for`);
  }
}

/** Every answer needs a probability; an answer without one is unusable. */
function distributionOf(
  name: string,
  probabilities: Record<string, number> | undefined,
): Record<string, number> {
  if (probabilities === undefined || Object.keys(probabilities).length === 0)
    throw new UnusableAnswer(`the answer to ${name} has no probabilities`);
  return probabilities;
}
