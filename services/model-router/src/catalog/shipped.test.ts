// Checks the shipped catalog: once its key is set, every model can be called under a name that its provider package
// knows, at a price with a stated source.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type CatalogModel, catalogFile } from '@switchyard/contracts';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { refusalOf, refusalOfTranscription } from '../calls/model-limits.ts';
import { ADAPTERS, AI_SDK_MAKERS } from '../makers/registry.ts';
import { loadCatalog } from './catalog.ts';
import { SHIPPED_CATALOGS } from './shipped.ts';

const files = SHIPPED_CATALOGS.map((path) => {
  const text = readFileSync(path, 'utf8');
  return { name: basename(path), text, models: catalogFile.parse(load(text)).models };
});
const makersFiles = files.filter(({ name }) => name !== 'local.yaml');
const ofMakers: CatalogModel[] = makersFiles.flatMap(({ models }) => models);
const named = (models: CatalogModel[]) => models.map((model) => [model.id, model] as const);

const { dependencies } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
) as { dependencies: Record<string, string> };

const catalogWith = (secret: (name: string) => string | undefined) =>
  loadCatalog({ files: [...SHIPPED_CATALOGS], makers: ADAPTERS, secret });

describe('ids', () => {
  it('are unique', () => {
    const ids = files.flatMap(({ models }) => models.map(({ id }) => id));
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it.each(makersFiles)('$name holds only models of the maker that it is named after', ({ name, models }) => {
    expect(models.length).toBeGreaterThan(0);
    expect(new Set(models.map(({ id }) => id.split('/')[0]))).toEqual(new Set([name.replace('.yaml', '')]));
  });
});

describe('sources', () => {
  const SOURCE = /^ {2}# source: https:\/\/\S+(, .+)?, read \d{4}-\d{2}-\d{2}$/;

  it.each(makersFiles)(
    '$name names the source of the price of every model, and when it was read',
    ({ text }) => {
      const lines = text.split('\n');
      const without = lines.filter(
        (line, at) => line.startsWith('  - id:') && !SOURCE.test(lines[at - 1] ?? ''),
      );
      expect(without).toEqual([]);
    },
  );
});

describe('limits', () => {
  it.each(['verbose_json', 'srt', 'vtt'] as const)(
    'refuse %s of the transcription models of OpenAI that report no times',
    (responseFormat) => {
      const asked = {
        format: 'mp3',
        seconds: 1,
        bytes: 1,
        language: null,
        responseFormat,
        wantsTimes: false,
      } as const;
      const refusing = ofMakers.filter((model) => refusalOfTranscription(model, asked) !== null);
      expect(refusing.map(({ id }) => id)).toEqual(
        expect.arrayContaining([
          'openai/gpt-transcribe',
          'openai/gpt-4o-transcribe',
          'openai/gpt-4o-mini-transcribe',
        ]),
      );
    },
  );
});

describe('prices', () => {
  const DOLLARS_PER_TOKEN_MAX = 0.001;

  it.each(named(ofMakers))('%s has a plausible price', (_id, { pricing, type }) => {
    const { input_token: input, cached_input_token: cached, output_token: output, second, ...rest } = pricing;
    for (const rate of [input, cached, output])
      if (rate !== undefined) expect(Number(rate)).toBeLessThan(DOLLARS_PER_TOKEN_MAX);
    if (input !== undefined) expect(Number(input)).toBeGreaterThan(0);
    if (cached !== undefined) expect(Number(cached)).toBeLessThan(Number(input));
    if (type === 'language') expect(Number(output)).toBeGreaterThanOrEqual(Number(input));
    for (const rate of [rest.image, rest.minute, rest.character, rest.search])
      if (rate !== undefined) expect(Number(rate)).toSatisfy((dollars) => dollars > 0 && dollars < 1);
    // A higher resolution never costs less per second.
    const bySize = Object.entries(second ?? {})
      .toSorted(([a], [b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
      .map(([, rate]) => Number(rate));
    expect(bySize).toEqual(bySize.toSorted((a, b) => a - b));
  });
});

describe('upstreams', () => {
  /**
   * Ids of models whose names the types of the provider package do not list, although it accepts any name: newer models,
   * and a path.
   */
  const NOT_LISTED_BY_THE_PACKAGE = new Set([
    'fal/luma-dream-machine/ray-2-flash',
    'cohere/embed-v5.0-pro',
    'cohere/embed-v5.0-fast',
    'cohere/embed-v4.0',
    'cohere/rerank-v4.0-pro',
    'cohere/rerank-v4.0-fast',
  ]);
  const packages = new Map<string, string>();
  const namesIn = (adapter: string) => {
    const types = packages.get(adapter) ?? readFileSync(typesOf(adapter), 'utf8');
    packages.set(adapter, types);
    return types;
  };
  /** An adapter of our own has no package that lists names. */
  const withPackage = ofMakers.map((model) => ({
    ...model,
    upstreams: model.upstreams.filter(({ adapter }) => `@ai-sdk/${adapter}` in dependencies),
  }));

  it.each(named(withPackage))('%s has a name that its provider package knows', (id, { upstreams }) => {
    if (NOT_LISTED_BY_THE_PACKAGE.has(id)) return;
    for (const { adapter, model } of upstreams) expect(namesIn(adapter)).toMatch(quoted(model));
  });

  it.each(named(ofMakers))('%s is served by its adapter', (_id, { upstreams, type }) => {
    for (const { adapter } of upstreams) expect(ADAPTERS[adapter]?.types).toContain(type);
  });

  const withoutKeys = new Map(
    catalogWith(() => undefined)
      .list(0)
      .map((model) => [model.id, model]),
  );

  it.each(named(ofMakers))('%s is unavailable without its key, and names the variable to set', (id) => {
    expect(withoutKeys.get(id)).toMatchObject({
      available: false,
      unavailable_reason: expect.stringMatching(/^set [A-Z0-9_]+ to use this model$/),
    });
  });

  it('are all available once every key is set', () => {
    const listed = catalogWith(() => 'a key').list(0);
    expect(listed.filter(({ available, id }) => !available && !id.startsWith('local/'))).toEqual([]);
  });
});

describe('limits', () => {
  const refusal = (id: string, body: object) => {
    const model = ofMakers.find((one) => one.id === id) as CatalogModel;
    return refusalOf(model, Buffer.from(JSON.stringify({ model: id, prompt: 'x', input: 'x', ...body })))
      ?.message;
  };

  it('a model with sizes refuses an aspect ratio and vice versa, and lists the allowed values', () => {
    expect(refusal('black-forest-labs/flux-pro-1.1', { size: '1344x768' })).toBeUndefined();
    expect(refusal('black-forest-labs/flux-pro-1.1', { aspect_ratio: '16:9' })).toContain('Use size');
    expect(refusal('black-forest-labs/flux-kontext-pro', { aspect_ratio: '16:9' })).toBeUndefined();
    expect(refusal('black-forest-labs/flux-kontext-pro', { size: '1024x1024' })).toContain(
      'aspect_ratio: 1:1',
    );
  });

  it('a size that fal would charge as more than a megapixel is refused', () => {
    expect(refusal('fal/flux/schnell', { size: '1024x1024' })).toBeUndefined();
    expect(refusal('fal/flux/schnell', { size: '2048x2048' })).toContain('1024x1024');
    const shipped = ofMakers.filter(({ id, type }) => id.startsWith('fal/') && type === 'image');
    for (const { limits } of shipped)
      for (const size of limits.sizes as string[]) {
        const [width = 0, height = 0] = size.split('x').map(Number);
        expect(width * height).toBeLessThanOrEqual(1024 * 1024);
      }
  });

  it('an unknown voice and a text that is too long for the model are refused', () => {
    expect(refusal('openai/tts-1', { voice: 'unknown-voice' })).toContain('alloy');
    expect(refusal('deepgram/aura-2', { input: 'x'.repeat(2_001) })).toContain('2000');
  });
});

describe('docs/catalog.md', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../../../docs/catalog.md'), 'utf8');

  it('lists every maker that has an adapter, with its variable and types', () => {
    const rows = [...docs.matchAll(/^\| `([a-z-]+)` \| `([A-Z0-9_]+)` \| ([a-z, ]+) \|$/gm)].map((row) =>
      row.slice(1),
    );
    const makersRows = AI_SDK_MAKERS.map(({ name, apiKeyEnv, types }) => [name, apiKeyEnv, types.join(', ')]);
    expect(rows.toSorted()).toEqual(makersRows.toSorted());
  });

  it('has examples that are valid catalogs', () => {
    const blocks = [...docs.matchAll(/```yaml\n(models:\n[\s\S]+?)```/g)].map(([, yaml]) => load(yaml ?? ''));
    expect(blocks.length).toBeGreaterThan(1);
    for (const block of blocks) expect(catalogFile.safeParse(block)).toMatchObject({ success: true });
  });

  it('is followed by the file to copy for a new maker', () => {
    const yaml = readFileSync(join(import.meta.dirname, '../makers/example/example.yaml'), 'utf8');
    expect(catalogFile.safeParse(load(yaml))).toMatchObject({ success: true });
  });
});

/** The type declarations that an installed provider package exports. */
function typesOf(adapter: string): string {
  return new URL('./index.d.ts', import.meta.resolve(`@ai-sdk/${adapter}`)).pathname;
}

function quoted(name: string): RegExp {
  return new RegExp(`['"]${name.replaceAll(/[.\\/]/g, '\\$&')}['"]`);
}

describe('an unknown model', () => {
  it.each([
    [
      'gpt-6-luna',
      'No model is called gpt-6-luna. Did you mean openai/gpt-6-luna? GET /v1/models lists all models.',
    ],
    ['luna', 'No model is called luna. GET /v1/models lists all models.'],
  ])('%s is refused, with the id that ends in its name', (name, message) => {
    const resolve = () => catalogWith(() => undefined).resolve([name], 'language');
    expect(resolve).toThrow(expect.objectContaining({ code: 'model_not_found', message }));
  });
});
