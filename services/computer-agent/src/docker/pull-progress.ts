// How far a pull is, from what the engine tells of its layers.
import { z } from 'zod';

const BYTES_PER_MB = 1_000_000;

/** One line of the engine's answer. */
export const pullEvent = z.object({
  id: z.string().nullish(),
  status: z.string().nullish(),
  progressDetail: z.object({ current: z.number().nullish(), total: z.number().nullish() }).nullish(),
  error: z.string().nullish(),
});
export type PullEvent = z.infer<typeof pullEvent>;

interface Layer {
  /** Packed bytes that have come, and that there are; 0 as long as that is not known. */
  bytes: number;
  totalBytes: number;
  done: boolean;
}

export class PullProgress {
  readonly #layers = new Map<string, Layer>();

  take({ id, status, progressDetail }: PullEvent): void {
    if (!id) return;
    const layer = this.#layers.get(id) ?? { bytes: 0, totalBytes: 0, done: false };
    switch (status) {
      case 'Pulling fs layer':
      case 'Waiting':
        break;
      case 'Downloading':
        layer.bytes = progressDetail?.current ?? layer.bytes;
        layer.totalBytes = Math.max(layer.bytes, progressDetail?.total ?? 0);
        break;
      case 'Download complete':
        layer.bytes = layer.totalBytes;
        break;
      case 'Already exists':
      case 'Pull complete':
        layer.bytes = layer.totalBytes;
        layer.done = true;
        break;
      default:
        return; // of no layer, or nothing that counts
    }
    this.#layers.set(id, layer);
  }

  /** Packed bytes of the layers that have been begun. */
  get totalBytes(): number {
    return [...this.#layers.values()].reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  }

  /** In words: "1 of 3 layers, 40 of 120 MB". */
  toString(): string {
    const layers = [...this.#layers.values()];
    if (layers.length === 0) return 'nothing of it has come';
    const done = layers.filter((layer) => layer.done).length;
    const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0);
    return `${done} of ${layers.length} layers, ${mb(bytes)} of ${mb(this.totalBytes)} MB`;
  }
}

function mb(bytes: number): number {
  return Math.round(bytes / BYTES_PER_MB);
}
