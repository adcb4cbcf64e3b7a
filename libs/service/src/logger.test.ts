import { expect, test } from 'vitest';
import { makeLogger } from './logger.ts';

test('an error is logged with its causes, without other members, which may hold a request or an answer', () => {
  const lines: string[] = [];
  const logger = makeLogger('test', 'info', { write: (line) => void lines.push(line) });
  const cause = Object.assign(new Error('inner'), { responseBody: 'an answer', code: 'ECONNRESET' });
  logger.warn(
    { err: Object.assign(new Error('outer', { cause }), { requestBodyValues: 'a prompt' }) },
    'failed',
  );
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    msg: 'failed',
    err: { message: 'outer', cause: { message: 'inner', code: 'ECONNRESET' } },
  });
  expect(lines[0]).not.toMatch(/a prompt|an answer/);
});
