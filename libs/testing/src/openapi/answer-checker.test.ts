import { describe, expect, test } from 'vitest';
import { AnswerChecker, type OpenApiDocument } from './answer-checker.ts';

const string = { type: 'string' };
const requestId = { 'X-Request-Id': { required: true, schema: { type: 'string', pattern: '^req_' } } };
const thing = {
  type: 'object',
  properties: { id: string, at: { type: 'string', format: 'date-time' } },
  required: ['id'],
  additionalProperties: false,
};
const error = {
  allOf: [
    { $ref: '#/components/schemas/Error' },
    { type: 'object', properties: { code: { enum: ['not_found'] } } },
  ],
};
const json = (schema: object) => ({ headers: requestId, content: { 'application/json': { schema } } });
const document: OpenApiDocument = {
  openapi: '3.1.0',
  paths: {
    '/v1/things/{id}': { get: { responses: { 200: json(thing), 404: json(error) } } },
    '/v1/things/options': { get: { responses: { 200: json({ type: 'array' }) } } },
    '/v1/files/{id}': { get: { responses: { 200: { headers: requestId, content: { '*/*': {} } } } } },
    '/v1/sound': { post: { responses: { 200: { headers: requestId, content: { 'audio/*': {} } } } } },
  },
  components: { schemas: { Error: { type: 'object', properties: { code: string }, required: ['code'] } } },
};

interface Given {
  method?: string;
  path?: string;
  status?: number;
  type?: string;
  requestId?: string | null;
  json?: unknown;
}

function faults(given: Given): string[] {
  const {
    method = 'GET',
    path = '/v1/things/a',
    status = 200,
    type = 'application/json; charset=utf-8',
  } = given;
  const headers = new Headers({ 'content-type': type });
  if (given.requestId !== null) headers.set('x-request-id', given.requestId ?? 'req_1');
  return new AnswerChecker(document).faultsOf({ method, path, status, headers, json: given.json });
}

describe('an answer that the document describes', () => {
  test.each<[string, Given]>([
    ['by its schema', { json: { id: 'a', at: '2026-11-21T06:00:00Z' } }],
    ['as an error', { status: 404, json: { code: 'not_found' } }],
    ['by a path without parameters, where one with them fits too', { path: '/v1/things/options', json: [] }],
    ['as one of a family of media types', { method: 'POST', path: '/v1/sound', type: 'audio/mpeg' }],
    ['as something of any media type', { path: '/v1/files/a', type: 'text/csv' }],
    ['as the refusal of a path that is not there', { path: '/v1/x', status: 404, json: { code: 'x' } }],
    ['as the refusal of a method that is not there', { method: 'PUT', status: 405, json: { code: 'x' } }],
    ['to HEAD, without a body', { method: 'HEAD' }],
  ])('%s has no faults', (_how, given) => {
    expect(faults(given)).toEqual([]);
  });
});

describe('an answer is at fault', () => {
  test.each<[string, Given, string]>([
    ['without a required field', { json: {} }, "must have required property 'id'"],
    ['with an undocumented field', { json: { id: 'a', b: 1 } }, 'must NOT have additional properties'],
    ['with a field of another type', { json: { id: null } }, '/id must be string'],
    ['with a date that is none', { json: { id: 'a', at: 'today' } }, '/at must match format "date-time"'],
    ['with a code that the operation does not have', { status: 404, json: { code: 'x' } }, '/code must be'],
    ['with an undocumented status', { status: 500, json: {} }, 'a status that the operation does not tell'],
    ['of another media type', { type: 'text/html' }, 'of the type "text/html"'],
    ['without a required header', { requestId: null, json: { id: 'a' } }, 'has no X-Request-Id'],
    ['with a header of another form', { requestId: 'x', json: { id: 'a' } }, 'X-Request-Id: x must match'],
    ['where no operation is', { path: '/v1/x', json: {} }, 'where no operation is'],
  ])('%s', (_how, given, words) => {
    expect(faults(given).join('\n')).toContain(words);
  });
});
