/** The machine's Docker engine, for tests that need one. */
import { engineVersion } from '@switchyard/local';
import Docker from 'dockerode';

/**
 * The engine, or undefined when none answers.
 * @example
 * const engine = await docker();
 * describe.skipIf(engine === undefined)('a computer', …);
 */
export async function docker(): Promise<Docker | undefined> {
  return (await engineVersion(process.env)) === undefined ? undefined : new Docker();
}
