// Limits of local/decide on its questions, beyond the contract.
import { decisionQuestion, decisionsRequest } from '@switchyard/contracts';
import { z } from 'zod';

const OPTIONS_MAX = 100;

const question = decisionQuestion
  .refine(({ options }) => options.length <= OPTIONS_MAX, { message: `at most ${OPTIONS_MAX} options` })
  .transform((asked) => ({
    ...asked,
    options: asked.options.map(({ name, description }) => ({ name, description: description ?? '' })),
  }));

export type Question = z.output<typeof question>;

/** The contract's request, with the questions parsed. */
export const localDecisionsRequest = decisionsRequest.safeExtend({
  questions: decisionsRequest.shape.questions.pipe(z.record(z.string(), question)),
});
