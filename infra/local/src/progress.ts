/**
 * What the person at the terminal sees while things are found or made: one line per step when it is done, with
 * where the thing came from and how long it took; a line now and then while a step is long. Nothing else.
 */
export interface Progress {
  /**
   * Runs one step and reports it. `work` may say what it is doing at the moment; those words are shown only if
   * the step is still at it after a while. `summary` turns the result into the words of the step's one line.
   */
  step<T>(name: string, work: (doing: Doing) => Promise<T>, summary: (result: T) => string): Promise<T>;
  /** A line of its own about `name`. */
  note(name: string, text: string): void;
}

/** Says what a step is doing at the moment. `announce` shows it at once: the step is known to be long. */
export type Doing = (text: string, options?: { readonly announce?: boolean }) => void;

const STILL_AT_IT_EVERY_MS = 10_000;
const NAME_COLUMNS = 16;

/** Progress as lines of text, written by `write` (a line each, without its end). */
export function createProgress(write: (line: string) => void): Progress {
  const line = (name: string, text: string) => write(`${name.padEnd(NAME_COLUMNS)} ${text}`);
  return {
    note: line,
    async step(name, work, summary) {
      const started = performance.now();
      let activity = 'working';
      const still = setInterval(
        () => line(name, `${activity} … ${seconds(performance.now() - started)}`),
        STILL_AT_IT_EVERY_MS,
      );
      try {
        const result = await work((text, options) => {
          activity = text;
          if (options?.announce) line(name, text);
        });
        line(name, `${summary(result)} (${seconds(performance.now() - started)})`);
        return result;
      } finally {
        clearInterval(still);
      }
    },
  };
}

/** Progress that nobody watches, for tests. */
export const silentProgress: Progress = createProgress(() => {});

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
