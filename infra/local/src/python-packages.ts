/** A Python with packages, in a folder of the user: found, else made with venv and pip. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './config.ts';
import type { DebianPackages } from './debian-packages.ts';
import { findProgram, runCommand } from './run-command.ts';
import { SetupError } from './setup-error.ts';
import { makeOnce, toolsCacheFolder } from './tools-cache.ts';

interface PythonPackagesOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly packages: DebianPackages;
  /** File that lists the Python packages; default: those of clients/python and its tests. */
  readonly requirements?: string;
}

const CLIENT_REQUIREMENTS = join(ROOT, 'clients', 'python', 'requirements.txt');
const DEBIAN_PACKAGES = ['python3', 'python3-venv'];
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const CHECK_TIMEOUT_MS = 30_000;
/** Fails before Python 3.11, and where Debian left out `venv`. Prints what the packages depend on. */
const CHECK =
  'import ensurepip, sys, venv; assert sys.version_info >= (3, 11); print(sys.version, sys.prefix)';

/** Returns the path of a Python. @throws SetupError when no Python of the machine can have packages */
export async function ensurePythonPackages({
  env,
  packages,
  requirements = CLIENT_REQUIREMENTS,
}: PythonPackagesOptions): Promise<string> {
  const python = await checkedPython(env).catch(async () => {
    if (packages.possible) await packages.install(DEBIAN_PACKAGES);
    return checkedPython(env).catch((cause: Error) => {
      const fix = `sudo apt-get install -y ${DEBIAN_PACKAGES.join(' ')}`;
      throw new SetupError(`Python 3.11 or newer with venv not found: ${cause.message}`, fix);
    });
  });
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .update(python.description);
  const folder = join(toolsCacheFolder(env), `python-${hash.digest('hex').slice(0, 16)}`);
  await makeOnce(folder, async (unfinished) => {
    const options = { timeoutMs: INSTALL_TIMEOUT_MS, env };
    await runCommand(python.program, ['-m', 'venv', unfinished], options);
    const install = ['-m', 'pip', 'install', '--quiet', '--requirement', requirements];
    await runCommand(join(unfinished, 'bin', 'python'), install, options);
  });
  return join(folder, 'bin', 'python');
}

async function checkedPython(env: NodeJS.ProcessEnv): Promise<{ program: string; description: string }> {
  const program = findProgram('python3', env.PATH);
  if (program === undefined) throw new Error('python3 is not on the PATH.');
  const { stdout } = await runCommand(program, ['-c', CHECK], { timeoutMs: CHECK_TIMEOUT_MS, env });
  return { program, description: stdout };
}
