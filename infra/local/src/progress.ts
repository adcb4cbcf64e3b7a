/**
 * The lines at the terminal during a start: one for each finished step, with its result and duration, and a reminder
 * every 10 s while a step runs.
 */
export interface Progress {
  /**
   * Runs one step and reports it. `work` may say what it is doing; the reminder shows those words. `summary` turns
   * the result into the step's line.
   */
  step<T>(name: string, work: (doing: Doing) => Promise<T>, summary: (result: T) => string): Promise<T>;
  /** A line of its own about `name`. */
  note(name: string, text: string): void;
}

/** Sets the words of the reminder. `announce` also shows them at once, for a step known to be long. */
export type Doing = (text: string, options?: { readonly announce?: boolean }) => void;

const REMINDER_EVERY_MS = 10_000;
const NAME_COLUMNS = 16;

/** Progress as lines of text; `write` gets each line without its newline. */
export function createProgress(write: (line: string) => void): Progress {
  const line = (name: string, text: string) => write(`${name.padEnd(NAME_COLUMNS)} ${text}`);
  return {
    note: line,
    async step(name, work, summary) {
      const started = performance.now();
      let activity = 'working';
      const still = setInterval(
        () => line(name, `${activity} … ${seconds(performance.now() - started)}`),
        REMINDER_EVERY_MS,
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

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
