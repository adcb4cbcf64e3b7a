// `npm run fuzz:api`: starts the stack without computers and sends it requests that schemathesis makes from the OpenAPI
// document. Exits with 1 on a 5xx, an undocumented status or header, or an answer that differs from its schema.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { createDebianPackages, ensurePythonPackages } from '@switchyard/local';
import { startStack, temporaryFolder } from '@switchyard/testing';

/** `--examples`: requests to each operation in each phase. */
const { values } = parseArgs({ options: { examples: { type: 'string', default: '20' } } });
const REQUIREMENTS = join(import.meta.dirname, 'fuzz-api.requirements.txt');
const REQUEST_TIMEOUT_S = 60;
/** Streams without an end, and servers inside computers, whose answers the document leaves open. */
const LEFT_OUT = '/v1/events$|/ports/|/v1/links/|/terminal$';

/** Valid requests may ask for what is not there (a month to come), and a deleted org is kept for 30 days. */
const NOT_MEANT = 'positive_data_acceptance,use_after_free';

const { env } = process;
const python = await ensurePythonPackages({
  ...{ env, packages: createDebianPackages(env), requirements: REQUIREMENTS },
});
const stack = await startStack({ env: { SWITCHYARD_COMPUTERS: 'off' } });
try {
  const program = join(dirname(python), 'schemathesis');
  const flags = [
    ...['--header', `Authorization: Bearer ${stack.key}`, '--checks', 'all', '--exclude-checks', NOT_MEANT],
    ...['--max-examples', values.examples, '--request-timeout', String(REQUEST_TIMEOUT_S)],
    ...['--exclude-path-regex', LEFT_OUT],
  ];
  const cwd = await temporaryFolder('fuzz-api');
  const child = spawn(program, ['run', `${stack.url}/v1/openapi.json`, ...flags], { cwd, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await stack.stop();
}
