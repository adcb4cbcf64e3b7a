import { expect, test } from 'vitest';
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, limitOf, listQuery, pageFrom, shortListQuery } from './lists.ts';

const ALL = ['a', 'b', 'c', 'd'];
const page = (query: Record<string, string>) => pageFrom(ALL, shortListQuery.parse(query), (one) => one);

test('a short list is whole, and its last page has no next one', () => {
  expect(page({})).toEqual({
    object: 'list',
    data: ALL,
    first_id: 'a',
    last_id: 'd',
    has_more: false,
    next_cursor: null,
  });
});

test('pages follow one another by their last id, under either name', () => {
  expect(page({ limit: '3' })).toMatchObject({ last_id: 'c', has_more: true, next_cursor: 'c' });
  for (const name of ['after', 'cursor'])
    expect(page({ limit: '3', [name]: 'c' })).toMatchObject({ data: ['d'], first_id: 'd', has_more: false });
  expect(page({ after: 'd' })).toMatchObject({ data: [], first_id: null, last_id: null, has_more: false });
});

test('a cursor that is not in the list is refused', () => {
  expect(() => page({ after: 'x' })).toThrow(expect.objectContaining({ param: 'after' }));
});

test('a limit has a default, and one above the maximum is lowered to it', () => {
  expect(limitOf(listQuery.parse({}))).toBe(LIST_LIMIT_DEFAULT);
  expect(limitOf(listQuery.parse({ limit: '10000' }))).toBe(LIST_LIMIT_MAX);
  for (const limit of ['0', '10001', 'x']) expect(listQuery.safeParse({ limit }).success).toBe(false);
});
