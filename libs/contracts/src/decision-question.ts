// A question of POST /v1/decisions, however its options are written: `criteria` as the AI SDK has them, `choices`,
// `options` and `levels` as others do, each a list or a map.
import { z } from 'zod';

/** A level or an option that is a number is read as its text. */
const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** Text, or JSON that is read as text. */
const description = z.union([
  text,
  z.null(),
  z.record(z.string(), z.unknown()).transform((value) => JSON.stringify(value)),
  z.array(z.unknown()).transform((value) => JSON.stringify(value)),
]);
const named = z
  .looseObject({
    name: text.optional(),
    id: text.optional(),
    label: text.optional(),
    value: text.optional(),
    description: description.optional(),
  })
  .transform(({ name, id, label, value, description: said }) => ({
    name: name ?? id ?? value ?? label ?? '',
    description: said === undefined ? (label ?? null) : said,
  }))
  .refine(({ name }) => name !== '', { message: 'an option needs a name' });
const listed = z.array(z.union([text.transform((name) => ({ name, description: null })), named]));
const mapped = z
  .record(z.string(), description)
  .transform((options) => Object.entries(options).map(([name, said]) => ({ name, description: said })));
const options = z.union([listed, mapped]).nullish();

/** Returns the options as a list; `description` is null for an option without one. */
export const decisionQuestion = z
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
export type DecisionQuestion = z.output<typeof decisionQuestion>;
