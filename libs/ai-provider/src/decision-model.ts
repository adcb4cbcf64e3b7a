// Decisions: maps the SDK's typed questions to POST /v1/decisions, and the answers back.
import {
  type Experimental_DecisionModelV4Answer as Answer,
  type Experimental_DecisionModelV4CallOptions as CallOptions,
  type Experimental_DecisionModelV4 as DecisionModelV4,
  type Experimental_DecisionModelV4Input as Input,
  type JSONObject,
  type JSONValue,
  type Experimental_DecisionModelV4Question as Question,
  type Experimental_DecisionModelV4Result as Result,
  type SharedV4Warning,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { decisionsResult } from '@switchyard/contracts';
import type { z } from 'zod';
import { costMetadata, extraFields, NAME, postJson, SwitchyardModel } from './call-api.ts';

/** A value such as 0 or 1 does not show how it was rounded; decimals beyond the precision of a double mean nothing. */
const DECIMALS_MIN = 2;
const DECIMALS_MAX = 15;

type OurAnswer = z.infer<typeof decisionsResult>['answers'][string];

export class SwitchyardDecisionModel extends SwitchyardModel implements DecisionModelV4 {
  readonly provider = `${NAME}.decision`;
  readonly supportedQuestionTypes = ['boolean', 'choice', 'score'] as const;

  /** @throws UnsupportedFunctionalityError for files in the state */
  async doDecide(options: CallOptions): Promise<Result> {
    const { state, questions, providerOptions } = options;
    const body = {
      model: this.modelId,
      state: stateOf(state),
      questions: Object.fromEntries(
        Object.entries(questions).map(([name, question]) => [name, questionOf(name, question)]),
      ),
      ...extraFields(providerOptions),
    };
    const { value, response } = await postJson(this.access, '/decisions', body, decisionsResult, options);
    const { inputTokens, outputTokens, cost } = value.usage;
    return {
      rounding: roundingOf(Object.values(value.answers)),
      answers: Object.fromEntries(
        Object.entries(value.answers).map(([name, answer]) => [name, answerOf(answer)]),
      ),
      usage: { inputTokens, outputTokens },
      warnings: unsupportedOptionWarnings(options),
      providerMetadata: costMetadata(cost),
      response: {
        modelId: value.model,
        ...response,
      },
    };
  }
}

/** Texts are joined by a blank line; a single object stays as it is; anything else is listed under `parts`. */
function stateOf(parts: CallOptions['state']): string | JSONObject {
  const values = parts.map((part): JSONValue => {
    if (part.type === 'text') return part.text;
    if (part.type === 'json') return part.value;
    throw new UnsupportedFunctionalityError({ functionality: 'files in the state of a decision' });
  });
  if (values.every((value) => typeof value === 'string')) return values.join('\n\n');
  const [only] = values;
  return values.length === 1 && isObject(only) ? only : { parts: values };
}

function isObject(value: JSONValue | undefined): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The API takes instructions as text; a question defined only by its criteria is asked by its name. */
function questionOf(name: string, question: Question): object {
  const { instructions } = question;
  const asked = { ...question, instructions: textOf(instructions ?? name) };
  return asked.type === 'score' ? { ...asked, criteria: asked.criteria.map(levelOf) } : asked;
}

/** The API takes levels as text; one without a description is named by its index. */
function levelOf(level: Input | null, index: number): string {
  return level === null ? String(index) : textOf(level);
}

function textOf(input: Input): string {
  return typeof input === 'string' ? input : JSON.stringify(input);
}

function unsupportedOptionWarnings({ maxOutputTokens, reasoning }: CallOptions): SharedV4Warning[] {
  return Object.entries({ maxOutputTokens, reasoning })
    .filter(([, asked]) => asked !== undefined)
    .map(([feature]) => ({ type: 'unsupported', feature }));
}

function answerOf(answer: OurAnswer): Answer {
  switch (answer.type) {
    case 'boolean':
      return { type: 'boolean', probability: answer.probability };
    case 'choice':
      return { type: 'choice', choice: answer.choice, ...distribution(answer) };
    case 'score':
      return { type: 'score', score: answer.score, ...distribution(answer) };
    case 'refusal':
      return { type: 'refusal' };
  }
}

function distribution({ probabilities }: { probabilities?: Record<string, number> | undefined }) {
  return probabilities ? { probabilities } : {};
}

/**
 * Makers round differently, and the SDK adds the values up: report as many decimals as the values have.
 */
function roundingOf(answers: OurAnswer[]): { probabilityDecimals: number; scoreDecimals: number } {
  const choicesAndScores = answers.filter((answer) => answer.type === 'choice' || answer.type === 'score');
  const probabilities = choicesAndScores.flatMap((answer) => Object.values(answer.probabilities ?? {}));
  const scores = choicesAndScores.flatMap((answer) => (answer.type === 'score' ? [answer.score] : []));
  return { probabilityDecimals: decimalsOf(probabilities), scoreDecimals: decimalsOf(scores) };
}

function decimalsOf(values: number[]): number {
  const decimals = values.map(
    (value) => value.toFixed(DECIMALS_MAX).replace(/0+$/, '').split('.')[1]?.length ?? 0,
  );
  return Math.max(DECIMALS_MIN, ...decimals);
}
