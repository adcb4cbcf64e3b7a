// POST /v1/decisions: questions about a situation, each answered with a probability.
import { z } from 'zod';
import { boundedMap, sizeOf, textOrObject } from './bounded.ts';
import { dollars } from './dollars.ts';
import { modelChoice, modelRequest } from './model-choice.ts';

export const DECISION_QUESTIONS_MAX = 300;
/** Options of a choice, levels of a score. */
const DECISION_OPTIONS_MAX = 1_000;

/** As `decisionQuestion` reads them. */
const options = z
  .unknown()
  .refine((given) => sizeOf(given) <= DECISION_OPTIONS_MAX, `at most ${DECISION_OPTIONS_MAX} options`)
  .optional()
  .meta({
    description:
      'Options of a choice, or levels of a score from low to high: a list, or a map of name -> description',
    maxItems: DECISION_OPTIONS_MAX,
    maxProperties: DECISION_OPTIONS_MAX,
  });

/** Further options of the model (the choices of a choice question) are in the same object. */
const question = z.looseObject({
  type: z
    .enum(['boolean', 'choice', 'score'])
    .describe('boolean: yes or no; choice: one of the options; score: a level on a scale'),
  instructions: z.string().min(1).describe('What is asked'),
  criteria: options,
  choices: options,
  options,
  levels: options,
});

export const decisionsRequest = z
  .looseObject({
    ...modelChoice,
    state: textOrObject().describe('The situation, as text or as a JSON object'),
    questions: boundedMap(question, { min: 1, max: DECISION_QUESTIONS_MAX, key: z.string().min(1) }).describe(
      'Question name -> question. The options of a choice and the levels of a score (low to high) are in its ' +
        '`criteria`, a list or a map of name -> description',
    ),
  })
  .apply(modelRequest, {
    description: 'Questions about one situation. Further fields go to the maker as they are',
    examples: [
      {
        model: 'local/decide',
        state: { subject: 'Refund', amount: 120, text: 'The parcel never arrived.' },
        questions: {
          large: { type: 'boolean', instructions: 'Is the amount over 100?' },
          team: { type: 'choice', instructions: 'Who handles it?', criteria: ['billing', 'delivery'] },
        },
      },
    ],
  });

const probability = z.number().min(0).max(1);
const probabilities = z
  .record(z.string(), probability)
  .describe('Of every option or level; they add up to 1');
const likeliest = probability.describe('Probability of the answer given');

export const booleanAnswer = z.looseObject({
  type: z.literal('boolean').describe('The answer to a boolean question'),
  probability: probability.describe('P(true)'),
});
export const choiceAnswer = z.looseObject({
  type: z.literal('choice').describe('The answer to a choice question'),
  choice: z.string().describe('The option chosen'),
  probability: likeliest,
  probabilities: probabilities.optional(),
});
export const scoreAnswer = z.looseObject({
  type: z.literal('score').describe('The answer to a score question'),
  score: z.number().describe('The expected level, from 0 for the lowest; it may lie between two'),
  probability: likeliest,
  probabilities: probabilities.optional(),
});
export const refusedAnswer = z.looseObject({
  type: z.literal('refusal').describe('The model will not answer this one'),
  probability: z.literal(0).describe('Always 0'),
});

export const decisionAnswer = z.discriminatedUnion('type', [
  booleanAnswer,
  choiceAnswer,
  scoreAnswer,
  refusedAnswer,
]);

export const decisionsResult = z.looseObject({
  model: z.string().describe('The model that answered'),
  answers: z.record(z.string(), decisionAnswer).describe('Question name -> answer: every question has one'),
  usage: z
    .looseObject({
      inputTokens: z.int().describe('Tokens in'),
      outputTokens: z.int().describe('Tokens out'),
      cost: dollars,
    })
    .describe('What was used, and its cost'),
});
