import { expect, test } from 'vitest';
import { DIALECTS, type Dialect, errorShapeOf } from './dialects.ts';
import { ERRORS, type ErrorCode, ServiceError } from './errors.ts';

const codes = Object.keys(ERRORS) as ErrorCode[];

test.each(Object.keys(DIALECTS) as Dialect[])(
  '%s: every error has a body of its documented shape',
  (dialect) => {
    const { body, schema } = errorShapeOf(dialect);
    for (const code of codes)
      expect(
        schema.parse(body(new ServiceError(code, 'a message', { param: 'model' }), 'req_1')),
      ).toMatchObject({
        error: { code, message: 'a message', param: 'model' },
      });
  },
);

test('a route without a dialect has OpenAI’s errors', () => {
  expect(errorShapeOf(undefined)).toBe(errorShapeOf('chat'));
});

test('Anthropic’s errors name its own families', () => {
  const { body, streamEnd } = errorShapeOf('messages');
  expect(body(new ServiceError('service_unavailable', 'Retry.'), 'req_1')).toEqual({
    type: 'error',
    error: { type: 'overloaded_error', code: 'service_unavailable', message: 'Retry.', param: null },
    request_id: 'req_1',
  });
  expect(streamEnd(new ServiceError('rate_limited', 'Wait.'), 'req_1')).toMatch(
    /^event: error\ndata: \{"type":"error","error":\{"type":"rate_limit_error",.*\}\n\n$/,
  );
});

test('a Responses stream ends in a typed event whose `error` OpenAI’s clients throw', () => {
  const event = errorShapeOf('responses').streamEnd(new ServiceError('upstream_error', 'Gone.'), 'req_1');
  expect(event).toMatch(
    /^event: error\ndata: \{"type":"error","sequence_number":0,"error":\{.*"code":"upstream_error"/,
  );
});
