// What the declaration of an event says.
import { z } from 'zod';

/** Integer nano-dollars as a decimal string: JSON has no exact integers of that size. */
export const nanos = z.string().regex(/^-?\d{1,18}$/);

/** What was counted, at which rate: the price frozen in the event. Same meaning as libs/money's ChargeLine. */
export const chargeLine = z.object({
  unit: z.string(),
  quantity: z.union([z.number().nonnegative(), z.string()]),
  rate: z.string(),
  per: z.int().positive().optional(),
});

export interface DefinedEvent<S extends z.ZodObject> {
  readonly data: S;
  readonly meaning: string;
  /** What one line about it shows, in this order (`eventLine`). */
  readonly shows: readonly (keyof z.infer<S> & string)[];
}

/** Declares an event of `EVENTS`. */
export function defineEvent<S extends z.ZodObject>(
  data: S,
  meaning: string,
  shows: DefinedEvent<S>['shows'],
): DefinedEvent<S> {
  return { data, meaning, shows };
}
