// Answers of a hostile registry, which the agent must refuse without blocking its event loop.
import { createHash } from 'node:crypto';
import type { Egress, EgressResponse } from '@switchyard/egress';
import { expect, test } from 'vitest';
import { ImageFailure, ImageRegistry } from './image-registry.ts';

const MANIFEST_BYTES = 3.9 * 1024 * 1024;
const ORIGIN = 'https://registry.test';
const LAYER = { digest: digestOf('layer'), size: 1 };
const PLATFORM = { os: 'linux', architecture: 'amd64' };
/** Processor time: far above that of a right check, far below that of one that continues after the first wrong element. */
const CHECK_MS_MAX = 3_000;

/** A registry that sends these answers, by the path of the request. */
function registryOf(answers: Record<string, string | EgressResponse>) {
  const asked: string[] = [];
  const egress: Egress = {
    check: async () => {},
    async fetch(url) {
      asked.push(url);
      const answer = answers[new URL(url).pathname];
      return typeof answer === 'object' ? answer : answerOf(answer === undefined ? 404 : 200, answer);
    },
  };
  const reference = {
    origin: ORIGIN,
    repository: 'registry.test/a',
    path: 'a',
    wanted: 'latest',
  };
  const { signal } = new AbortController();
  return {
    asked,
    registry: new ImageRegistry({ egress, reference, architecture: async () => 'amd64', signal }),
  };
}

function answerOf(status: number, content = '', headers: Record<string, string> = {}): EgressResponse {
  const bytes = Buffer.from(content);
  const body = (async function* () {
    yield bytes;
  })();
  return { status, headers, body, bytes: async () => bytes, close: () => {} } as unknown as EgressResponse;
}

function digestOf(content: string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

/** As many elements as a manifest has room for. */
const manyOf = (element: string) =>
  `[${Array(Math.floor(MANIFEST_BYTES / (element.length + 1)))
    .fill(element)
    .join()}]`;

async function failureOf(work: Promise<unknown>) {
  const begun = process.threadCpuUsage();
  const error: unknown = await work.catch((caught: unknown) => caught);
  if (!(error instanceof ImageFailure)) throw new Error(`no ImageFailure but ${String(error)}`);
  const { user, system } = process.threadCpuUsage(begun);
  return { reason: error.reason, message: error.message, ms: (user + system) / 1_000 };
}

test.each([
  ['an index of wrong manifests', `{"manifests":${manyOf('{}')}}`],
  ['a manifest of wrong layers', `{"config":${JSON.stringify(LAYER)},"layers":${manyOf('{}')}}`],
])('%s is refused at its first wrong element', async (_what, content) => {
  const { registry } = registryOf({ '/v2/a/manifests/latest': content });
  const { reason, ms } = await failureOf(registry.lookUp());
  expect(reason).toBe('failed');
  expect(ms).toBeLessThan(CHECK_MS_MAX);
});

test('a configuration of wrong layers is refused at its first wrong element', async () => {
  const content = JSON.stringify({ ...PLATFORM, rootfs: { diff_ids: JSON.parse(manyOf('""')) } });
  const config = { digest: digestOf(content), size: content.length };
  const { registry } = registryOf({ [`/v2/a/blobs/${config.digest}`]: content });
  const image = { digest: digestOf('manifest'), config, layers: [LAYER] };
  const { reason, ms } = await failureOf(registry.config(image));
  expect(reason).toBe('failed');
  expect(ms).toBeLessThan(CHECK_MS_MAX);
});

test('an index of 1,000 manifests is accepted, one of 1,001 is refused', async () => {
  const manifest = JSON.stringify({ config: LAYER, layers: [LAYER] });
  const one = { digest: digestOf(manifest), size: manifest.length, platform: PLATFORM };
  const lookUp = (count: number) =>
    registryOf({
      '/v2/a/manifests/latest': JSON.stringify({ manifests: Array(count).fill(one) }),
      [`/v2/a/manifests/${one.digest}`]: manifest,
    }).registry.lookUp();
  expect(await lookUp(1_000)).toEqual({ digest: one.digest, config: LAYER, layers: [LAYER] });
  expect((await failureOf(lookUp(1_001))).message).toMatch(/not supported/);
});

test('a platform in an index does not replace the digest of its manifest', async () => {
  const manifest = JSON.stringify({ config: LAYER, layers: [LAYER] });
  const digest = digestOf(manifest);
  const platform = { ...PLATFORM, digest: 'other' };
  const { asked, registry } = registryOf({
    '/v2/a/manifests/latest': JSON.stringify({ manifests: [{ digest, size: 1, platform }] }),
    [`/v2/a/manifests/${digest}`]: manifest,
  });
  await registry.lookUp();
  expect(asked).toEqual([`${ORIGIN}/v2/a/manifests/latest`, `${ORIGIN}/v2/a/manifests/${digest}`]);
});

test('only the first 4 KiB of a challenge are read', async () => {
  const challenge = `Bearer ${'a'.repeat(15_000)} realm="${ORIGIN}/token"`;
  const { asked, registry } = registryOf({
    '/v2/a/manifests/latest': answerOf(401, '', { 'www-authenticate': challenge }),
    '/token': '{"token":"of-everybody"}',
  });
  expect((await failureOf(registry.lookUp())).reason).toBe('unauthorized');
  expect(asked).toEqual([`${ORIGIN}/v2/a/manifests/latest`]);
});
