/** The process of `npm start`: signals, the ready line, and error messages. */
import type { LauncherConfig } from './config.ts';
import type { Progress } from './progress.ts';
import type { LocalService } from './services.ts';
import { SetupError } from './setup-error.ts';
import { createStack } from './stack.ts';

interface LauncherOptions {
  readonly readConfig: () => LauncherConfig;
  readonly env: NodeJS.ProcessEnv;
  readonly services: readonly LocalService[];
  readonly progress: Progress;
}

/** One Ctrl-C can arrive twice, from the terminal and through npm. A second one by a person takes longer. */
const SECOND_SIGNAL_AFTER_MS = 1_000;
/** Scripts wait for this line. */
export const READY_LINE = /^Switchyard ready at (http:\S+)$/m;

/** Runs until a signal arrives, then stops the stack and ends the process with its exit code. */
export async function runLauncher({ readConfig, env, services, progress }: LauncherOptions): Promise<void> {
  // A closed pipe on stdout must not end the stack.
  process.stdout.on('error', () => {});
  try {
    const stack = createStack({ config: readConfig(), env, services, progress });
    const signalled = untilSignal(() => stack.kill());
    const outcome = await Promise.race([
      stack.start().then(
        (served) => served,
        (error: unknown) => ({ error }),
      ),
      signalled,
    ]);
    if (typeof outcome === 'object' && 'url' in outcome) {
      if (outcome.signInUrl !== undefined) console.log(`Sign in at ${outcome.signInUrl}`);
      console.log(`Switchyard ready at ${outcome.url}`);
      progress.note('stopping', `on ${await signalled}: finishing open requests`);
    } else if (typeof outcome === 'object') {
      process.exitCode = 1;
      report(outcome.error);
    }
    await stack.stop();
    progress.note('stopped', 'all processes that this start began');
  } catch (error) {
    process.exitCode = 1;
    report(error);
  }
  process.exit();
}

/** Resolves with the first signal; calls `hurry` at a second one. */
function untilSignal(hurry: () => void): Promise<NodeJS.Signals> {
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

function report(error: unknown): void {
  if (error instanceof SetupError) console.error(`${error.message}\nFix: ${error.fix}`);
  else console.error('Bug in the launcher:', error);
}
