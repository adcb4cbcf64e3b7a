import { expect, test } from 'vitest';
import { secretOf } from './catalog-config.ts';

test('a credential is read without the newline that its file ended in', () => {
  const settings = { ACME_API_KEY: 'sk-ours\n', EMPTY_API_KEY: '\n' };
  expect(secretOf(settings, 'ACME_API_KEY')).toBe('sk-ours');
  expect(secretOf(settings, 'EMPTY_API_KEY')).toBeUndefined();
  expect(secretOf(settings, 'OTHER_API_KEY')).toBeUndefined();
});
