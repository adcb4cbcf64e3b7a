// The questions as they are written: `criteria` as the AI SDK has them, `choices`, `options` and `levels` as others do.
import { decisionsRequest } from '@switchyard/contracts';
import { z } from 'zod';

const OPTIONS_MAX = 100;

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** Text, or JSON that is read as text. */
const description = z.union([
  text,
  z.null().transform(() => ''),
  z.record(z.string(), z.unknown()).transform((value) => JSON.stringify(value)),
  z.array(z.unknown()).transform((value) => JSON.stringify(value)),
]);
const namedOption = z
  .looseObject({
    name: text.optional(),
    id: text.optional(),
    label: text.optional(),
    value: text.optional(),
    description: description.optional(),
  })
  .transform((option) => ({
    name: option.name ?? option.id ?? option.value ?? option.label ?? '',
    description: option.description ?? option.label ?? '',
  }))
  .refine(({ name }) => name !== '', { message: 'an option needs a name' });
const listed = z
  .array(z.union([text.transform((name) => ({ name, description: '' })), namedOption]))
  .max(OPTIONS_MAX);
const mapped = z
  .record(z.string(), description)
  .transform((options) =>
    Object.entries(options).map(([name, described]) => ({ name, description: described })),
  )
  .refine((options) => options.length <= OPTIONS_MAX, { message: `at most ${OPTIONS_MAX} options` });
const options = z.union([listed, mapped]).nullish();

const question = z
  .looseObject({
    type: z.enum(['boolean', 'choice', 'score']),
    instructions: z.string().min(1),
    criteria: options,
    choices: options,
    options,
    levels: options,
  })
  .transform(({ type, instructions, criteria, choices, options: others, levels }) => ({
    type,
    instructions,
    options: criteria ?? choices ?? others ?? levels ?? [],
  }));

export type Question = z.output<typeof question>;
export type Option = Question['options'][number];

/** The contract's request, with what it leaves to the model. */
export const localDecisionsRequest = decisionsRequest.safeExtend({
  questions: decisionsRequest.shape.questions.pipe(z.record(z.string(), question)),
});
