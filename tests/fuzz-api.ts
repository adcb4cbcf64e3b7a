// `npm run fuzz:api`: starts a stack of its own, with computers, and sends it requests that schemathesis makes from the
// OpenAPI document. Exits with 1 on a 5xx, an undocumented status, or an answer that differs from its schema.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDebianPackages, ensurePythonPackages } from '@switchyard/local';
import { startStack, type TestStack, temporaryFolder } from '@switchyard/testing';

/** `--examples`: requests to each operation in each phase. */
const { values } = parseArgs({ options: { examples: { type: 'string', default: '20' } } });
const REQUIREMENTS = join(import.meta.dirname, 'fuzz-api.requirements.txt');
const REQUEST_TIMEOUT_S = 60;
/** Checks for a host, one per second; a first host builds the standard image. */
const LOOKS_MAX = 600;
/**
 * Streams without an end; servers inside computers, whose answers the document leaves open; and sessions, which do not
 * read a body beside a key.
 */
const LEFT_OUT = '/v1/events$|/ports/|/v1/links/|/terminal$|/v1/session$';
/**
 * Valid requests may name what does not exist (a future month); a deleted org is kept for 30 days; and a repeated
 * `Idempotency-Key` returns the answer of a creation even if its result was deleted since.
 */
const NOT_MEANT = 'positive_data_acceptance,use_after_free,ensure_resource_availability';
/** schemathesis drops its own path values that have slashes: sometimes most of them, for `/v1/models/{model}`. */
const MAY_BE_RARE = 'filter_too_much';

const { env } = process;
const python = await ensurePythonPackages({
  ...{ env, packages: createDebianPackages(env), requirements: REQUIREMENTS },
});
const stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'on' } });
try {
  await untilComputers(stack);
  const flags = [
    ...['--header', `Authorization: Bearer ${stack.key}`],
    ...['--checks', 'all', '--exclude-checks', NOT_MEANT, '--exclude-path-regex', LEFT_OUT],
    ...['--suppress-health-check', MAY_BE_RARE],
    ...['--max-examples', values.examples, '--request-timeout', String(REQUEST_TIMEOUT_S)],
  ];
  const cwd = await temporaryFolder('fuzz-api');
  const run = ['-m', 'schemathesis.cli', 'run', `${stack.url}/v1/openapi.json`, ...flags];
  const child = spawn(python, run, { cwd, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await stack.stop();
}

/** Resolves when computers can be created; leaves one. */
async function untilComputers({ url, key }: TestStack): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const answer = await fetch(`${url}/v1/computers`, { method: 'POST', headers, body: '{}' });
    if (answer.status === 201) return;
    if (answer.status !== 503) throw new Error(`no computer could be created: ${await answer.text()}`);
    await sleep(1_000);
  }
  throw new Error(`no computer could be created within ${LOOKS_MAX} s`);
}
