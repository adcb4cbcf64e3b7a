// Lowers the CPU weight of computers that compute for seconds, so that short commands of their neighbours run first.
// Weights matter only while the cores of the host are contended. Among busy computers their sizes still decide.
import { type Logger, repeat, systemClock } from '@switchyard/service';
import { sharesOf } from '../docker/container-config.ts';
import type { InitClient } from './init-client.ts';
import { readCpuSeconds } from './meter.ts';

const SAMPLE_EVERY_MS = 1_000;
/** Cores. A computer above this for SAMPLES_TO_YIELD samples in a row is busy. The smallest size is guaranteed as much. */
export const BUSY_CORES = 0.25;
/** Cores. A busy computer below this for SAMPLES_TO_RECOVER samples in a row gets its full weight back. */
export const RESTED_CORES = 0.05;
export const SAMPLES_TO_YIELD = 2;
export const SAMPLES_TO_RECOVER = 3;
/** Weight of a busy computer, as a fraction of the weight of its size. */
export const BUSY_SHARE = 1 / 16;

/** Decides from samples of one computer whether it is busy. Pure: no I/O, no clock. */
export class BusyDetector {
  busy = false;
  #samplesInARow = 0;

  /** @param cores used on average since the last sample */
  sample(cores: number): void {
    const contradicts = this.busy ? cores < RESTED_CORES : cores > BUSY_CORES;
    this.#samplesInARow = contradicts ? this.#samplesInARow + 1 : 0;
    if (this.#samplesInARow < (this.busy ? SAMPLES_TO_RECOVER : SAMPLES_TO_YIELD)) return;
    this.busy = !this.busy;
    this.#samplesInARow = 0;
  }
}

interface CpuWeightsDeps {
  /** Sets the CPU shares of a running container. Rejects when it has ended. */
  readonly setShares: (containerId: string, shares: number) => Promise<void>;
  readonly logger: Logger;
}

export type CpuWeights = ReturnType<typeof openCpuWeights>;

/** Samples every watched computer once per SAMPLE_EVERY_MS and adjusts its weight when it becomes busy or rests. */
export function openCpuWeights({ setShares, logger }: CpuWeightsDeps) {
  return {
    /** Watches a computer until its init closes the connection. @param cpu cores of its size */
    watch(
      { containerId, init }: { readonly containerId: string; readonly init: InitClient },
      cpu: number,
    ): void {
      const detector = new BusyDetector();
      let before: { seconds: number; atMs: number } | undefined;
      let hasLessWeight = false; // as last set in the engine; a failed attempt is repeated
      const sample = async () => {
        const seconds = await readCpuSeconds(init);
        const atMs = performance.now();
        const cores = before && (seconds - before.seconds) / ((atMs - before.atMs) / 1_000);
        before = { seconds, atMs };
        if (cores !== undefined) detector.sample(cores);
        const { busy } = detector;
        if (busy === hasLessWeight) return;
        await setShares(containerId, sharesOf(cpu * (busy ? BUSY_SHARE : 1)));
        hasLessWeight = busy;
      };
      const failed = `CPU weight of container ${containerId} not adjusted`;
      const samples = repeat({ everyMs: SAMPLE_EVERY_MS, clock: systemClock, logger, failed }, () =>
        sample().catch((error: unknown) => {
          if (!init.isClosed) throw error;
        }),
      );
      void init.closed.then(() => samples.stop());
    },
  };
}
