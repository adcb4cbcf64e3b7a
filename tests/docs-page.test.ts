// The reference page in a real browser: it works under its policy, and the key that is entered stays in the page's memory.
import { ensureImage } from '@switchyard/sandbox-computer';
import { startStack, type TestStack } from '@switchyard/testing';
import Docker from 'dockerode';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';
import { openBrowser, visit } from './__fixtures__/open-browser.ts';

/** Two visits of the page, which may each be repeated for minutes. */
const TEST_MS_MAX = 600_000;
const ANSWERED_MS_MAX = 120_000;

let stack: TestStack;
let browser: Awaited<ReturnType<typeof openBrowser>>;

beforeAll(async () => {
  await ensureImage({ docker: new Docker() });
  [stack, browser] = await Promise.all([startStack(), openBrowser()]);
}, SET_UP_MS_MAX);
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
});

const show = (page: Page) =>
  visit(page, `${stack.url}/docs`, page.getByRole('button', { name: 'Authorize' }));

const STORED = '({ ...localStorage, ...sessionStorage })';

test('a key that is entered is sent with requests, never stored, and gone with the page', {
  timeout: TEST_MS_MAX,
}, async () => {
  const page = await browser.browser.newPage();
  const refused: string[] = [];
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) refused.push(message.text());
  });
  await show(page);
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByLabel('auth-bearer-value').fill(stack.key);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.locator('#operations-tag-Models').click();
  await page.locator('[id$="-listModels"]').click();
  await page.getByRole('button', { name: 'Try it out' }).click();
  // Chromium may abort the request, as it may the page.
  const execute = async () => {
    const [answered] = await Promise.all([
      page.waitForResponse(`${stack.url}/v1/models`),
      page.getByRole('button', { name: 'Execute' }).click(),
    ]);
    expect(answered.status()).toBe(200);
  };
  await vi.waitFor(execute, { timeout: ANSWERED_MS_MAX, interval: 250 });
  await page.locator('.live-responses-table .response').waitFor();
  expect(await page.evaluate(STORED)).toEqual({});
  expect(refused).toEqual([]);

  await show(page);
  await page.getByRole('button', { name: 'Authorize' }).click();
  expect(await page.getByLabel('auth-bearer-value').inputValue()).toBe('');
  await page.close();
});

test('no other page can frame it, and no script without the nonce of this answer runs in it', {
  timeout: TEST_MS_MAX,
}, async () => {
  const page = await browser.browser.newPage();
  await show(page);
  const ran = await page.evaluate(`(async () => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.injected = true';
    document.body.append(script);
    return globalThis.injected === true;
  })()`);
  expect(ran).toBe(false);
  const answers = await Promise.all([1, 2].map(() => fetch(`${stack.url}/docs`)));
  const [policy, next] = answers.map(({ headers }) => headers.get('content-security-policy'));
  expect(policy).toMatch(/default-src 'none'; .*script-src 'nonce-[\w+/=]{22,}'; .*frame-ancestors 'none'/);
  expect(next).not.toBe(policy);
  expect(Object.fromEntries(answers[0]?.headers ?? [])).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  await page.close();
});
