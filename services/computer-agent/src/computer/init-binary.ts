// The init that is PID 1 of every computer (services/computer-agent/init, C), compiled.
import { fileURLToPath } from 'node:url';
import { ServiceError } from '@switchyard/contracts';
import { type CompiledProgramOptions, ensureCompiled } from '../docker/compiled-program.ts';

export const INIT_SOURCE_DIRECTORY = fileURLToPath(new URL('../../init/', import.meta.url));

export type InitBinaryOptions = Omit<CompiledProgramOptions, 'name' | 'source'>;

/**
 * The path of the compiled init.
 * @throws ServiceError `computer_failed` when neither the host nor the builder image can compile it.
 */
export async function ensureInitBinary(options: InitBinaryOptions): Promise<string> {
  try {
    return await ensureCompiled({ name: 'init', source: INIT_SOURCE_DIRECTORY, ...options });
  } catch (cause) {
    throw new ServiceError('computer_failed', 'the init of computers could not be compiled', { cause });
  }
}
