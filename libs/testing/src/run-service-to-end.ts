/** Runs a service as a process that ends by itself, because of its settings. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** EX_CONFIG of sysexits.h: supervisors do not start the process again. */
export const EXIT_CONFIG = 78;

/**
 * @param main path of the service's main.ts
 * @returns its exit code, and what it wrote to standard error
 */
export async function runServiceToEnd(
  main: string,
  settings: Record<string, string>,
): Promise<{ code: number | null; said: string }> {
  const { HEALTH_PORT: _, ...env } = process.env;
  const service = spawn(process.execPath, [main], {
    env: { ...env, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  service.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = await once(service, 'close');
  return { code, said };
}
