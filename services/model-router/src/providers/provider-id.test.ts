import { expect, test } from 'vitest';
import { AI_SDK_MAKERS } from '../makers/registry.ts';
import { makersVariables, providerIdOf } from './provider-id.ts';

test('a maker with an adapter has the name of its adapter', () => {
  expect(makersVariables().map(providerIdOf)).toEqual(AI_SDK_MAKERS.map(({ name }) => name));
});

test('another variable is named after itself, and never after a maker that has another one', () => {
  expect(providerIdOf('ACME_API_KEY')).toBe('acme');
  expect(providerIdOf('ACME_EU_TOKEN')).toBe('acme-eu-token');
  expect(providerIdOf('FAL_API_KEY')).toBe('fal-api-key');
});
