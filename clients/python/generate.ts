// Part of `npm run client`: writes the types and the endpoints from the OpenAPI document, and the synchronous modules from
// the asynchronous ones, with generate.py.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createDebianPackages, ensurePythonPackages } from '@switchyard/local';
import { apiDocument } from '../typescript/generate.ts';

export const SOURCES = join(import.meta.dirname, 'src', 'switchyard');

/** Writes the generated files into a folder, which has the asynchronous modules in `aio`. */
export async function generatePython(folder: string): Promise<void> {
  const { env } = process;
  const python = await ensurePythonPackages({ env, packages: createDebianPackages(env) });
  const program = join(import.meta.dirname, 'generate.py');
  const child = spawn(python, [program, folder], { stdio: ['pipe', 'inherit', 'inherit'] });
  child.stdin.end(JSON.stringify(await apiDocument()));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`generate.py failed with code ${code}.`);
}

if (import.meta.main) await generatePython(SOURCES);
