import { z } from 'zod';

/** Dollars, with at most 9 decimals. */
export const dollars = z.number().meta({ description: 'US dollars, at most 9 decimals' });
