// Runs Python with the packages of clients/python/requirements.txt, and our own package installed from its sources.
import { join } from 'node:path';
import { createDebianPackages, ensurePythonPackages, ROOT, runCommand } from '@switchyard/local';

const INSTALL_TIMEOUT_MS = 300_000;

export interface PythonEnvironment {
  program: string;
  /** Lets the program find our package. */
  env: { PYTHONPATH: string; PYTHONDONTWRITEBYTECODE: string };
}

/** Builds and installs our package into a folder, as a user would. */
export async function startPython(folder: string): Promise<PythonEnvironment> {
  const program = await ensurePythonPackages({
    env: process.env,
    packages: createDebianPackages(process.env),
  });
  const flags = ['--quiet', '--no-deps', '--no-build-isolation', '--target', folder];
  const install = ['-m', 'pip', 'install', ...flags, join(ROOT, 'clients', 'python')];
  await runCommand(program, install, { timeoutMs: INSTALL_TIMEOUT_MS });
  return { program, env: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' } };
}
