// A catalog file for tests: one model of each of the eight types, all served by the test upstream.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogFile } from '@switchyard/contracts';
import type { z } from 'zod';

export type CatalogEntry = z.input<typeof catalogFile>['models'][number];
type UpstreamEntry = CatalogEntry['upstreams'][number];

export interface TestCatalogOptions {
  /** The upstream's base URL. */
  url: string;
  /** Further models, or replacements of those below by their id. */
  models?: CatalogEntry[];
  /** Where the file goes; a new temporary folder otherwise. */
  folder?: string;
}

/** `acme/chat-1` and seven others. */
export function testModels(url: string): CatalogEntry[] {
  const served = (model: string): UpstreamEntry[] => [{ adapter: 'openai-compatible', base_url: url, model }];
  return [
    chatModel('acme/chat-1', url, 'gpt-4o-mini'),
    {
      id: 'acme/embed-1',
      type: 'embedding',
      name: 'Embed 1',
      modalities: { input: ['text'], output: ['embedding'] },
      context_length: 8_191,
      pricing: { input_token: '0.00000002' },
      upstreams: served('text-embedding-3-small'),
    },
    {
      id: 'acme/image-1',
      type: 'image',
      name: 'Image 1',
      modalities: { input: ['text'], output: ['image'] },
      pricing: { image: '0.04' },
      upstreams: served('image-1'),
    },
    {
      id: 'acme/video-1',
      type: 'video',
      name: 'Video 1',
      modalities: { input: ['text', 'image'], output: ['video'] },
      pricing: { second: { '480p': '0.05', '720p': '0.10', '1080p': '0.20' } },
      upstreams: served('video-1'),
    },
    {
      id: 'acme/speech-1',
      type: 'speech',
      name: 'Speech 1',
      modalities: { input: ['text'], output: ['audio'] },
      pricing: { character: '0.000015' },
      upstreams: served('tts-1'),
    },
    {
      id: 'acme/transcribe-1',
      type: 'transcription',
      name: 'Transcribe 1',
      modalities: { input: ['audio'], output: ['text'] },
      pricing: { minute: '0.006' },
      upstreams: served('whisper-1'),
    },
    {
      id: 'acme/decide-1',
      type: 'decision',
      name: 'Decide 1',
      modalities: { input: ['text'], output: ['decision'] },
      pricing: { input_token: '0.0000001', output_token: '0.0000004' },
      upstreams: served('decide-1'),
    },
    {
      id: 'acme/rerank-1',
      type: 'rerank',
      name: 'Rerank 1',
      modalities: { input: ['text'], output: ['ranking'] },
      pricing: { search: '0.002' },
      upstreams: served('rerank-1'),
    },
  ];
}

/** A language model whose upstream is asked for `upstreamModel`: a name that may say how to misbehave. */
export function chatModel(
  id: string,
  url: string,
  upstreamModel: string,
  upstream: Partial<UpstreamEntry> = {},
): CatalogEntry {
  return {
    id,
    type: 'language',
    name: id,
    modalities: { input: ['text', 'image'], output: ['text'] },
    context_length: 128_000,
    pricing: { input_token: '0.00000015', cached_input_token: '0.000000075', output_token: '0.0000006' },
    supported_parameters: ['max_tokens', 'stop', 'temperature', 'tools', 'response_format'],
    upstreams: [{ adapter: 'openai-compatible', base_url: url, model: upstreamModel, ...upstream }],
  };
}

/**
 * Writes the catalog and returns its path. JSON is YAML: nothing more is needed to write it.
 * @throws ZodError for an invalid catalog.
 */
export async function writeTestCatalog({ url, models = [], folder }: TestCatalogOptions): Promise<string> {
  const replaced = new Set(models.map(({ id }) => id));
  const entries = [...testModels(url).filter(({ id }) => !replaced.has(id)), ...models];
  catalogFile.parse({ models: entries });
  const path = join(folder ?? (await mkdtemp(join(tmpdir(), 'switchyard-catalog-'))), 'catalog.yaml');
  await writeFile(path, JSON.stringify({ models: entries }, null, 2));
  return path;
}
