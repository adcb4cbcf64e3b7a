// The console in a real browser, on all of it: sign in by the printed link, use what it shows, find it in Logs and Usage.
// With SWITCHYARD_SCREENSHOTS=<folder> it leaves a picture of each page in both widths.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type ComputerObject, MODEL_TYPES, PERMISSIONS } from '@switchyard/contracts';
import { startStack, type TestStack } from '@switchyard/testing';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { firstComputer, SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';
import { openBrowser } from './__fixtures__/open-browser.ts';

const TEST_MS_MAX = 300_000;
const SHOWN_MS_MAX = 60_000;
/** Of all that the first page loads, compressed. */
const FIRST_LOAD_BYTES_MAX = 250 * 1024;
const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SCREENSHOTS = process.env.SWITCHYARD_SCREENSHOTS;
const WIDTHS = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } };

let stack: TestStack;
let browser: Awaited<ReturnType<typeof openBrowser>>;
let context: BrowserContext;
let page: Page;
let computer: ComputerObject;
const refusedByPolicy: string[] = [];
const errors: string[] = [];

const signInLink = () => /^Sign in at (\S+)$/m.exec(stack.output())?.[1] ?? '';

beforeAll(async () => {
  stack = await startStack({
    env: { SWITCHYARD_COMPUTERS: 'on', SWITCHYARD_WARM_POOL: '1', SWITCHYARD_IDLE_STOP_MINUTES: '30' },
  });
  computer = await firstComputer(stack, { name: 'workbench', cpu: 0.25, memory_mb: 512 });
  browser = await openBrowser();
  context = await browser.browser.newContext({ viewport: WIDTHS.wide });
  context.setDefaultTimeout(SHOWN_MS_MAX);
  page = await context.newPage();
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) refusedByPolicy.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(String(error)));
}, SET_UP_MS_MAX);
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
});

async function open(name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

async function waitForText(testId: string, text: RegExp): Promise<void> {
  await expect.poll(() => page.getByTestId(testId).textContent(), { timeout: SHOWN_MS_MAX }).toMatch(text);
}

test('the page has a nonce of its own in each answer, and its files are compressed and kept for good', async () => {
  const get = (path: string, headers: Record<string, string> = {}) => fetch(stack.url + path, { headers });
  const pages = await Promise.all(['/', '/console/logs/req_x', '/sign-in'].map((path) => get(path)));
  const policies = pages.map(({ headers }) => headers.get('content-security-policy') ?? '');
  expect(new Set(policies).size).toBe(3);
  for (const policy of policies) {
    expect(policy).toMatch(
      /default-src 'none'; script-src 'nonce-[\w+/=]{22,}' 'strict-dynamic'; style-src 'nonce-/,
    );
    expect(policy).not.toMatch(/unsafe/);
  }
  const asset = /src="(\/assets\/[^"]+\.js)"/.exec((await pages[0]?.text()) ?? '')?.[1] ?? '';
  const { status, headers } = await get(asset, { 'accept-encoding': 'br' });
  expect([status, headers.get('content-encoding'), headers.get('cache-control')]).toEqual([
    200,
    'br',
    'public, max-age=31536000, immutable',
  ]);
  expect((await get('/assets/none.js')).status).toBe(404);
  expect((await get('/assets/..%2findex.html')).status).toBe(404);
  expect((await get('/', { accept: 'application/json' })).status).toBe(404);
});

test('the printed link signs in once, leaves no token behind, and the page loads little', {
  timeout: TEST_MS_MAX,
}, async () => {
  const sizes: Promise<number>[] = [];
  page.on('requestfinished', (request) => {
    if (request.url().startsWith(stack.url))
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await page.goto(signInLink());
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.getByTestId('spent-today').waitFor();
  page.removeAllListeners('requestfinished');
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(50_000);
  expect(total).toBeLessThan(FIRST_LOAD_BYTES_MAX);
  expect(page.url()).toBe(`${stack.url}/`);
  expect(await page.evaluate('document.cookie')).toBe('');
  expect(JSON.stringify(await page.evaluate('({ ...localStorage, ...sessionStorage })'))).not.toContain(
    stack.key,
  );
  await page.reload();
  await page.getByTestId('spent-today').waitFor();

  const stranger = await browser.browser.newContext();
  const second = await stranger.newPage();
  await second.goto(signInLink());
  await second
    .getByRole('alert')
    .filter({ hasText: 'was used or has expired' })
    .waitFor({ timeout: SHOWN_MS_MAX });
  await stranger.close();
});

test('a chat is streamed with its cost, and is seen in Overview, Events, Logs and Usage', {
  timeout: TEST_MS_MAX,
}, async () => {
  await open('Playground');
  expect(await page.getByRole('tab').count()).toBe(Object.keys(MODEL_TYPES).length);
  await page.getByLabel('Message').fill('What is 6 * 7?');
  await page.getByRole('button', { name: 'Send' }).click();
  await waitForText('cost', /Cost: \$0\.0*[1-9]/);
  expect(await page.locator('[data-role=assistant]').textContent()).toContain('42');
  const cost = ((await page.getByTestId('cost').textContent()) ?? '').replace('Cost: ', '');

  await open('Logs');
  await page.getByRole('cell', { name: cost }).first().waitFor();
  await page.getByRole('region', { name: 'Logs' }).getByRole('link').first().click();
  await waitForText('log-cost', new RegExp(cost.replace(/[$.]/g, '\\$&')));
  await open('Usage');
  await waitForText('usage-cost', /\$\d+\.\d*[1-9]/);
});

test('a call from elsewhere appears by itself', { timeout: TEST_MS_MAX }, async () => {
  await open('Events');
  await page.getByText('live', { exact: true }).waitFor();
  const calls = page.getByTestId('events').getByText('call.completed');
  const before = await calls.count();
  await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/chat', messages: [{ role: 'user', content: 'hello' }] }),
  }).then((answer) => answer.text());
  await expect.poll(() => calls.count()).toBe(before + 1);
});

test('every other type of model is tried in the playground', { timeout: TEST_MS_MAX }, async () => {
  await open('Playground');
  const tryIt = async (tab: string, action: string, done: () => Promise<unknown>) => {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByRole('button', { name: action, exact: true }).click();
    await done();
    await page.getByTestId('cost').waitFor();
  };
  await tryIt('Images', 'Draw', () => page.getByRole('img', { name: /two red boats/ }).waitFor());
  await tryIt('Embeddings', 'Compare', () =>
    page.getByRole('region', { name: 'Similarity of each pair of texts' }).waitFor(),
  );
  await tryIt('Decisions', 'Decide', () => page.getByRole('heading', { name: 'anger' }).waitFor());
  await tryIt('Rerank', 'Rank', () => page.getByRole('region', { name: 'Documents, best first' }).waitFor());
  await tryIt('Speech', 'Speak', () => page.locator('audio').waitFor());
  await tryIt('Video', 'Film', () => page.locator('video').waitFor());
  const spoken = await fetch(`${stack.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'local/speech',
      input: 'seven three nine one',
      voice: 'alloy',
      response_format: 'wav',
    }),
  });
  const buffer = Buffer.from(await spoken.arrayBuffer());
  await page.getByRole('tab', { name: 'Transcription' }).click();
  await page.setInputFiles('input[type=file]', { name: 'digits.wav', mimeType: 'audio/wav', buffer });
  await page.getByRole('button', { name: 'Transcribe', exact: true }).click();
  await page.getByText('seven three nine one').waitFor();
});

test('a key is made with a limit, is shown once, and a session by it ends when it is revoked', {
  timeout: TEST_MS_MAX,
}, async () => {
  await open('Keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill('one dollar');
  expect(await page.getByRole('checkbox').count()).toBe(Object.keys(PERMISSIONS).length);
  await page.getByRole('checkbox', { name: PERMISSIONS['usage:read'] }).check();
  await page.getByLabel('Limit in dollars').fill('1');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const secret = await page.getByRole('alert').getByRole('region', { name: 'API key' }).textContent();

  const other = await browser.browser.newContext();
  const limited = await other.newPage();
  await limited.goto(stack.url);
  await limited.getByLabel('API key').fill(secret ?? '');
  await limited.getByRole('button', { name: 'Sign in' }).click();
  await limited.getByTestId('spent-today').waitFor({ timeout: SHOWN_MS_MAX });

  const row = page.getByRole('row').filter({ hasText: 'one dollar' });
  expect(await row.textContent()).toContain('$1.00 a month');
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await limited.getByRole('heading', { name: 'Sign in to Switchyard' }).waitFor({ timeout: SHOWN_MS_MAX });
  await other.close();
});

test('a command runs in a terminal, and a file is edited', { timeout: TEST_MS_MAX }, async () => {
  await open('Computers');
  await page.getByRole('link', { name: 'workbench' }).click();
  await page.getByLabel('Terminal input').waitFor();
  await expect
    .poll(() => page.locator('.xterm-rows').textContent(), { timeout: SHOWN_MS_MAX })
    .toMatch(/[$#]/);
  await page.getByLabel('Terminal input').focus();
  await page.keyboard.type('echo "six times seven: $((6 * 7))" | tee answer.txt\n');
  await expect
    .poll(() => page.locator('.xterm-rows').textContent(), { timeout: SHOWN_MS_MAX })
    .toContain('six times seven: 42');
  await page.getByRole('tab', { name: 'Files' }).click();
  await page.getByRole('row').filter({ hasText: 'answer.txt' }).getByRole('button', { name: 'Edit' }).click();
  expect(await page.getByLabel('/workspace/answer.txt').inputValue()).toBe('six times seven: 42\n');
  await page.getByLabel('/workspace/answer.txt').fill('forty-two\n');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: 'answer.txt' }).waitFor();
  await page.getByRole('tab', { name: 'Metrics' }).click();
  await page.getByRole('progressbar', { name: 'Memory in use' }).waitFor();
});

const PAGES = [
  'Overview',
  'Playground',
  'Models',
  'Computers',
  'Files',
  'Usage',
  'Logs',
  'Events',
  'Keys',
  'Webhooks',
  'Billing',
];

test.each(['light', 'dark'] as const)(
  'no page has a fault that axe finds, in the %s theme',
  { timeout: TEST_MS_MAX },
  async (theme) => {
    await page.emulateMedia({ colorScheme: theme });
    const addresses = (await page.evaluate(
      `[...document.querySelectorAll('nav a')].map((a) => [a.innerText, a.getAttribute('href')])`,
    )) as [string, string][];
    const inside = addresses.filter(([, href]) => !href.startsWith('/docs'));
    expect(inside.map(([name]) => name)).toEqual(PAGES);
    const faults: string[] = [];
    for (const [name, href] of [...inside, ['Computer', `/console/computers/${computer.id}`] as const])
      for (const [width, viewport] of Object.entries(WIDTHS)) {
        await page.setViewportSize(viewport);
        await page.goto(stack.url + href);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.getByLabel('Loading').first().waitFor({ state: 'detached' });
        if (name === 'Computer') await page.getByLabel('Terminal input').waitFor();
        if (SCREENSHOTS)
          await page.screenshot({ path: join(SCREENSHOTS, `${name.toLowerCase()}-${width}-${theme}.png`) });
        faults.push(...(await axeFaults()).map((fault) => `${name} ${width}: ${fault}`));
      }
    await page.setViewportSize(WIDTHS.wide);
    expect(faults).toEqual([]);
  },
);

/** axe is run by the debugger, since the page's policy runs no other script. */
async function axeFaults(): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate(`axe.run({ resultTypes: ['violations'] })`)) as {
    violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
  };
  return violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(
        ({ html, failureSummary }) => `${id} ${html.slice(0, 160)} ${failureSummary?.split('\n')[1] ?? ''}`,
      ),
  );
}

test('nothing that the console does is refused by its policy, and no page throws', () => {
  expect(refusedByPolicy).toEqual([]);
  expect(errors).toEqual([]);
});

test('signing out ends the session', { timeout: TEST_MS_MAX }, async () => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Switchyard' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to Switchyard' }).waitFor();
  await page.emulateMedia({ colorScheme: 'light' });
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, 'sign-in-wide-light.png') });
  expect(await axeFaults()).toEqual([]);
});
