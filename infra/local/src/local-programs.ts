/** The system programs of the local speech, transcription and video models: found, else installed from Debian packages. */
import { DEBIAN_PACKAGES, PROGRAMS } from '@switchyard/local-models/programs';
import type { DebianPackages } from './debian-packages.ts';
import type { Progress } from './progress.ts';
import { findProgram } from './run-command.ts';

interface EnsureLocalProgramsOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly packages: DebianPackages;
  readonly progress: Progress;
}

/** Installs what is missing. Never throws: without these programs the other models still work. */
export async function ensureLocalPrograms(options: EnsureLocalProgramsOptions): Promise<void> {
  const { env, packages, progress } = options;
  const missing = Object.keys(PROGRAMS).filter((program) => findProgram(program, env.PATH) === undefined);
  if (missing.length === 0) return;
  const names = DEBIAN_PACKAGES.join(' ');
  try {
    if (!packages.possible) throw new Error('only root can install Debian packages');
    await progress.step(
      'local models',
      (doing) => {
        doing(`installing ${names} with apt-get; about half a minute, once per machine`, { announce: true });
        return packages.install(DEBIAN_PACKAGES);
      },
      () => `${names} installed`,
    );
  } catch {
    progress.note(
      'local models',
      `some speech and video models fail: ${missing.join(', ')} missing. Fix: sudo apt-get install -y ${names}`,
    );
  }
}
