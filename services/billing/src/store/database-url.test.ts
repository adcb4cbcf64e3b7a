import { expect, test } from 'vitest';
import { databaseUrl } from './database-url.ts';

test('the user goes into the URL, unless the URL names one', () => {
  const user = { MONGODB_USER: 'switchyard', MONGODB_PASSWORD: 'a/b@c' };
  expect(databaseUrl({ MONGODB_URL: 'mongodb://mongo:27017/books', ...user })).toBe(
    'mongodb://switchyard:a%2Fb%40c@mongo:27017/books',
  );
  expect(databaseUrl({ MONGODB_URL: 'mongodb://own:x@mongo', ...user })).toBe('mongodb://own:x@mongo');
  expect(databaseUrl({ MONGODB_URL: 'mongodb://mongo' })).toBe('mongodb://mongo');
});
