// What is done without a network.
import { onlineManager } from '@tanstack/react-query';
import { expect, onTestFinished, test } from 'vitest';
import { queries, signIn } from './client.ts';

test('answers of the installation are loaded while the browser is offline', async () => {
  onTestFinished(() => {
    onlineManager.setOnline(true);
    queries.clear();
  });
  onlineManager.setOnline(false);
  const answer = queries.fetchQuery({ queryKey: ['/v1/models'], queryFn: async () => 'loaded' });
  expect(await answer).toBe('loaded');
});

test('a key with characters that no key has is refused as such, not as a lost connection', async () => {
  await expect(signIn({ key: 'sy_ab12cd…' })).rejects.toThrow('This is not an API key');
});
