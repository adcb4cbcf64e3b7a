// Progress of the creation of a computer whose image must be pulled: in its record, and in a stream's events.
import { z } from 'zod';

/** In this order; unneeded ones are left out. */
const CREATION_PHASES = ['looking_up', 'pulling', 'extracting', 'starting'] as const;

export const creationProgress = z.object({
  phase: z
    .enum(CREATION_PHASES)
    .describe(
      'looking_up: the registry is asked for the image; pulling: layers download; extracting: the rest is unpacked; starting: the image is ready',
    ),
  percent: z
    .int()
    .min(0)
    .max(100)
    .describe(
      'Share of the image that is ready: a downloaded layer counts half until it is unpacked. Falls only when another host is asked',
    ),
  bytes_done: z.int().nonnegative().describe('Bytes downloaded, compressed as in the registry'),
  bytes_total: z
    .int()
    .nonnegative()
    .describe('Bytes of all layers, compressed; 0: not known yet, or nothing to pull'),
  layers_done: z.int().nonnegative().describe('Layers that are unpacked'),
  layers_total: z.int().nonnegative().describe('Layers of the image; 0: not known yet, or nothing to pull'),
});
export type CreationProgress = z.infer<typeof creationProgress>;

/** For an image that needs no pull. */
export const NOTHING_TO_PULL: CreationProgress = {
  phase: 'starting',
  percent: 100,
  bytes_done: 0,
  bytes_total: 0,
  layers_done: 0,
  layers_total: 0,
};
