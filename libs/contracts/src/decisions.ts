// POST /v1/decisions: questions about a situation, each answered with a probability.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { modelChoice, NAMES_A_MODEL, namesAModel } from './model-choice.ts';

export const DECISION_QUESTIONS_MAX = 300;

/** Further options of the model (the choices of a choice question) stand in the same object. */
const question = z.looseObject({
  type: z.enum(['boolean', 'choice', 'score']),
  instructions: z.string().min(1),
});

export const decisionsRequest = z
  .looseObject({
    ...modelChoice,
    state: z.union([z.string(), z.record(z.string(), z.unknown())]),
    questions: z.record(z.string().min(1), question).refine(
      (questions) => {
        const count = Object.keys(questions).length;
        return count >= 1 && count <= DECISION_QUESTIONS_MAX;
      },
      { message: `1 to ${DECISION_QUESTIONS_MAX} questions` },
    ),
  })
  .refine(namesAModel, NAMES_A_MODEL);

const probability = z.number().min(0).max(1);
const probabilities = z.record(z.string(), probability);

export const decisionAnswer = z.discriminatedUnion('type', [
  /** `probability` is P(true). */
  z.looseObject({ type: z.literal('boolean'), probability }),
  z.looseObject({
    type: z.literal('choice'),
    choice: z.string(),
    probability,
    probabilities: probabilities.optional(),
  }),
  /** `score` is the expected level, `probability` that of the likeliest. */
  z.looseObject({
    type: z.literal('score'),
    score: z.number(),
    probability,
    probabilities: probabilities.optional(),
  }),
  z.looseObject({ type: z.literal('refusal'), probability: z.literal(0) }),
]);

export const decisionsResult = z.looseObject({
  model: z.string(),
  answers: z.record(z.string(), decisionAnswer),
  usage: z.looseObject({ inputTokens: z.int(), outputTokens: z.int(), cost: dollars }),
});
