// What the query cache does without a network.
import { onlineManager } from '@tanstack/react-query';
import { expect, onTestFinished, test } from 'vitest';
import { queries } from './client.ts';

test('answers of the installation are loaded while the browser is offline', async () => {
  onTestFinished(() => {
    onlineManager.setOnline(true);
    queries.clear();
  });
  onlineManager.setOnline(false);
  const answer = queries.fetchQuery({ queryKey: ['/v1/models'], queryFn: async () => 'loaded' });
  expect(await answer).toBe('loaded');
});
