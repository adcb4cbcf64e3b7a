// Progress of a pull: the packed bytes of each layer that were fetched, and those that the engine has unpacked.
import type { CreationProgress } from '@switchyard/contracts';
import type { Descriptor } from './image-registry.ts';

const BYTES_PER_MB = 1_000_000;

interface Layer {
  readonly totalBytes: number;
  fetchedBytes: number;
  unpackedBytes: number;
}

export class PullProgress {
  #layers = new Map<string, Layer>();

  /** The layers of the image are known. */
  begin(layers: readonly Descriptor[]): void {
    this.#layers = new Map(
      layers.map(({ digest, size }) => [digest, { totalBytes: size, fetchedBytes: 0, unpackedBytes: 0 }]),
    );
  }

  /** @param bytes of this layer so far */
  fetched(digest: string, bytes: number): void {
    const layer = this.#layers.get(digest);
    if (layer) layer.fetchedBytes = Math.max(layer.fetchedBytes, bytes);
  }

  /** @param bytes packed ones of this layer so far */
  unpacked(digest: string, bytes: number): void {
    const layer = this.#layers.get(digest);
    if (layer) layer.unpackedBytes = Math.min(Math.max(layer.unpackedBytes, bytes), layer.totalBytes);
  }

  /** The engine has the image. */
  loaded(): void {
    for (const layer of this.#layers.values()) layer.unpackedBytes = layer.totalBytes;
  }

  get totalBytes(): number {
    return this.#sum(({ totalBytes }) => totalBytes);
  }

  get now(): CreationProgress {
    const { size } = this.#layers;
    const fetchedBytes = this.#sum((layer) => layer.fetchedBytes);
    return {
      phase: size > 0 && fetchedBytes === this.totalBytes ? 'extracting' : 'pulling',
      percent: this.#percent,
      bytes_done: fetchedBytes,
      bytes_total: this.totalBytes,
      layers_done: this.#sum((layer) => (layer.unpackedBytes >= layer.totalBytes ? 1 : 0)),
      layers_total: size,
    };
  }

  /** In words: "0 of 3 layers, 40 of 120 MB". */
  toString(): string {
    const { layers_done, layers_total, bytes_done, bytes_total } = this.now;
    if (layers_total === 0) return 'nothing received';
    return `${layers_done} of ${layers_total} layers, ${mb(bytes_done)} of ${mb(bytes_total)} MB`;
  }

  /** Fetching counts half, and unpacking the other half. */
  get #percent(): number {
    const halves = this.#sum(({ fetchedBytes, unpackedBytes }) => fetchedBytes + unpackedBytes);
    return this.totalBytes === 0 ? 0 : Math.floor((50 * halves) / this.totalBytes);
  }

  #sum(numberOf: (layer: Layer) => number): number {
    return this.#layers.values().reduce((sum, layer) => sum + numberOf(layer), 0);
  }
}

function mb(bytes: number): number {
  return Math.round(bytes / BYTES_PER_MB);
}
