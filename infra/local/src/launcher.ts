/** The process of `npm start`: signals, the ready line, and how failures are told. */
import type { LauncherConfig } from './config.ts';
import type { Progress } from './progress.ts';
import type { LocalService } from './services.ts';
import { SetupError } from './setup-error.ts';
import { createStack } from './stack.ts';

export interface LauncherOptions {
  readonly readConfig: () => LauncherConfig;
  readonly env: NodeJS.ProcessEnv;
  readonly services: readonly LocalService[];
  readonly progress: Progress;
}

/** One Ctrl-C can arrive twice, from the terminal and through npm; a person needs longer for a second one. */
const SECOND_SIGNAL_AFTER_MS = 1_000;
/** Scripts wait for this line. */
export const READY_LINE = /^Switchyard ready at (http:\S+)$/m;

/** Runs until the process is told to stop; sets its exit code and ends it. */
export async function runLauncher({ readConfig, env, services, progress }: LauncherOptions): Promise<void> {
  // Whoever read our words may be gone; the stack need not go with them.
  process.stdout.on('error', () => {});
  try {
    const stack = createStack({ config: readConfig(), env, services, progress });
    const told = untilTold(() => stack.kill());
    const outcome = await Promise.race([
      stack.start().then(
        (url) => ({ url }),
        (error: unknown) => ({ error }),
      ),
      told,
    ]);
    if (typeof outcome === 'object' && 'url' in outcome) {
      console.log(`Switchyard ready at ${outcome.url}`);
      progress.note('stopping', `on ${await told}: finishing what is under way`);
    } else if (typeof outcome === 'object') {
      process.exitCode = 1;
      tell(outcome.error);
    }
    await stack.stop();
    progress.note('stopped', 'all that was started here');
  } catch (error) {
    process.exitCode = 1;
    tell(error);
  }
  process.exit();
}

/** Resolves with the first signal; calls `hurry` at a second one. */
function untilTold(hurry: () => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (first === undefined) {
          first = performance.now();
          resolve(signal);
        } else if (performance.now() - first > SECOND_SIGNAL_AFTER_MS) hurry();
      });
    }
  });
}

function tell(error: unknown): void {
  if (error instanceof SetupError) console.error(`${error.message}\nMend: ${error.mend}`);
  else console.error('A fault in the launcher:', error);
}
