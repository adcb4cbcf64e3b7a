// How far a pull is, from what the engine tells of its layers.
import type { CreationProgress } from '@switchyard/contracts';
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
  /** The engine had it before: there is nothing to pull. */
  wasThere: boolean;
  /** Packed bytes that have come, and that there are; 0 as long as that is not known. */
  bytes: number;
  totalBytes: number;
  /** All of it has come. */
  here: boolean;
  /** Packed bytes that are unpacked. */
  unpackedBytes: number;
  done: boolean;
}

const UNKNOWN: Layer = {
  wasThere: false,
  bytes: 0,
  totalBytes: 0,
  here: false,
  unpackedBytes: 0,
  done: false,
};

export class PullProgress {
  readonly #layers = new Map<string, Layer>();
  /** It never becomes less, as it otherwise would with a layer whose size becomes known. */
  #percent = 0;

  /** A layer that is fetched anew after a fault is as far as it had come before. */
  take({ id, status, progressDetail }: PullEvent): void {
    if (!id) return;
    const layer = { ...(this.#layers.get(id) ?? UNKNOWN) };
    const { current, total } = progressDetail ?? {};
    switch (status) {
      case 'Pulling fs layer':
      case 'Waiting':
        break;
      case 'Already exists':
        layer.wasThere = layer.here = layer.done = true;
        break;
      case 'Downloading':
        layer.bytes = Math.max(layer.bytes, current ?? 0);
        layer.totalBytes = Math.max(layer.bytes, layer.totalBytes, total ?? 0);
        break;
      case 'Download complete':
        layer.here = true;
        layer.bytes = layer.totalBytes;
        break;
      case 'Extracting':
        layer.here = true;
        layer.totalBytes = Math.max(layer.totalBytes, total ?? 0);
        layer.bytes = layer.totalBytes;
        layer.unpackedBytes = Math.min(Math.max(layer.unpackedBytes, current ?? 0), layer.totalBytes);
        break;
      case 'Pull complete':
        layer.here = layer.done = true;
        layer.bytes = layer.unpackedBytes = layer.totalBytes;
        break;
      default:
        return; // of no layer, or nothing that counts
    }
    this.#layers.set(id, layer);
    const pulled = [...this.#layers.values()].filter(({ wasThere }) => !wasThere);
    this.#percent = Math.max(this.#percent, Math.floor(100 * shareOf(pulled)));
  }

  /** Packed bytes of the layers that have been begun. */
  get totalBytes(): number {
    return this.#sum(({ totalBytes }) => totalBytes);
  }

  get now(): CreationProgress {
    const layers = [...this.#layers.values()];
    const pulled = layers.filter(({ wasThere }) => !wasThere);
    return {
      phase: pulled.length > 0 && pulled.every(({ here }) => here) ? 'extracting' : 'pulling',
      percent: this.#percent,
      bytes_done: this.#sum(({ bytes }) => bytes),
      bytes_total: this.totalBytes,
      layers_done: layers.filter(({ done }) => done).length,
      layers_total: layers.length,
    };
  }

  /** In words: "1 of 3 layers, 40 of 120 MB". */
  toString(): string {
    const { layers_total, layers_done, bytes_done, bytes_total } = this.now;
    if (layers_total === 0) return 'nothing of it has come';
    return `${layers_done} of ${layers_total} layers, ${mb(bytes_done)} of ${mb(bytes_total)} MB`;
  }

  #sum(bytesOf: (layer: Layer) => number): number {
    return [...this.#layers.values()].reduce((sum, layer) => sum + bytesOf(layer), 0);
  }
}

/** From 0 to 1: half for coming, half for being unpacked. A layer of unknown size is taken for an average one. */
function shareOf(layers: readonly Layer[]): number {
  const known = layers.map(({ totalBytes }) => totalBytes).filter((bytes) => bytes > 0);
  const average = known.length === 0 ? 1 : known.reduce((sum, bytes) => sum + bytes, 0) / known.length;
  let all = 0;
  let there = 0;
  for (const { done, bytes, unpackedBytes, totalBytes } of layers) {
    const weight = totalBytes || average;
    all += weight;
    there += done ? weight : (bytes + unpackedBytes) / 2;
  }
  return all === 0 ? 0 : there / all;
}

function mb(bytes: number): number {
  return Math.round(bytes / BYTES_PER_MB);
}
