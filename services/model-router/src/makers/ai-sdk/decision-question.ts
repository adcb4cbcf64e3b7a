// A question of POST /v1/decisions, however its options are written: `criteria` as a map or a list, `choices`,
// `options` or `levels`.
import { z } from 'zod';

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const description = z.union([text, z.null()]);
const named = z
  .looseObject({
    name: text.optional(),
    value: text.optional(),
    label: text.optional(),
    description: description.optional(),
  })
  .transform(({ name, value, label, description: said }) => ({
    name: name ?? value ?? label ?? '',
    description: said ?? null,
  }))
  .refine(({ name }) => name !== '', { message: 'an option needs a name' });
const listed = z.array(z.union([text.transform((name) => ({ name, description: null })), named]));
const mapped = z
  .record(z.string(), description)
  .transform((options) => Object.entries(options).map(([name, said]) => ({ name, description: said })));
const options = z.union([listed, mapped]).nullish();

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
