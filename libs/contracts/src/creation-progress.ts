// How far the creation of a computer is whose image has to be pulled: in its record, and in the events of a streamed one.
import { z } from 'zod';

/** In this order; those that need not be are left out. */
const CREATION_PHASES = ['looking_up', 'pulling', 'extracting', 'starting'] as const;

export const creationProgress = z.object({
  phase: z
    .enum(CREATION_PHASES)
    .describe(
      'looking_up: its registry is asked for the image; pulling: layers come; extracting: all have come and the rest is unpacked; starting: the image is there',
    ),
  percent: z
    .int()
    .min(0)
    .max(100)
    .describe(
      'How much of the image is there: a layer that has come and is not unpacked counts half. It never goes down; an estimate until the size of all layers is known',
    ),
  bytes_done: z.int().nonnegative().describe('Bytes that have come, packed as the registry has them'),
  bytes_total: z
    .int()
    .nonnegative()
    .describe('Bytes of the layers whose size is known, which all are by the time that the last one comes'),
  layers_done: z.int().nonnegative().describe('Layers that are unpacked, or were there already'),
  layers_total: z.int().nonnegative().describe('Layers of the image; 0: not known yet, or nothing to pull'),
});
export type CreationProgress = z.infer<typeof creationProgress>;

/** Of an image that is there without any pull. */
export const NOTHING_TO_PULL: CreationProgress = {
  phase: 'starting',
  percent: 100,
  bytes_done: 0,
  bytes_total: 0,
  layers_done: 0,
  layers_total: 0,
};
