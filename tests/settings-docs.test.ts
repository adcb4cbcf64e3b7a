// Compares docs/settings.md and docker-compose.yml with the services' configs: every setting, its default, and who
// reads it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { configSchema as billing } from '../services/billing/src/config.ts';
import { agentConfig } from '../services/computer-agent/src/config.ts';
import { config as control } from '../services/control/src/config.ts';
import { config as edge } from '../services/edge/src/config.ts';
import { config as router } from '../services/model-router/src/config.ts';
import { config as videoWorker } from '../services/video-worker/src/config.ts';

const CONFIGS: Record<string, z.ZodObject> = {
  edge,
  'model-router': router,
  'video-worker': videoWorker,
  control,
  billing,
  'computer-agent': agentConfig,
};

interface Setting {
  /** Cells of the default column; null where it is in words. */
  default: string | null;
  of: string[];
}

function documented(): Map<string, Setting> {
  const text = readFileSync(join(import.meta.dirname, '../docs/settings.md'), 'utf8');
  const settings = new Map<string, Setting>();
  for (const line of text.split('\n').filter((row) => row.startsWith('| `'))) {
    const [names = '', defaults = '', of = ''] = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
    const values = [...defaults.matchAll(/`([^`]*)`/g)].map(([, value]) => value ?? '');
    const variables = [...names.matchAll(/`([^`]*)`/g)].map(([, name]) => name ?? '');
    for (const [index, name] of variables.entries())
      settings.set(name, {
        default: values[index] ?? null,
        of: of === 'all' ? Object.keys(CONFIGS) : of.split(', '),
      });
  }
  return settings;
}

test('every setting is documented, with its default and its readers', () => {
  const known = new Map<string, { default: string; of: string[] }>();
  for (const [service, schema] of Object.entries(CONFIGS)) {
    const defaults = schema.parse({}) as Record<string, unknown>;
    for (const name of Object.keys(schema.shape)) {
      const entry = known.get(name) ?? { default: String(defaults[name] ?? ''), of: [] };
      entry.of.push(service);
      known.set(name, entry);
    }
  }
  const docs = documented();
  expect([...docs.keys()].sort()).toEqual([...known.keys()].sort());
  for (const [name, setting] of known) {
    expect(docs.get(name)?.of.sort(), name).toEqual(setting.of.sort());
    if (docs.get(name)?.default !== null) expect(docs.get(name)?.default, name).toBe(setting.default);
  }
});

/** Set in the image, by `npm run credentials` (`env_file`), or by `npm start` alone. */
const NOT_IN_COMPOSE = new Set([
  ...['SWITCHYARD_DATA', 'HEALTH_PORT', 'HEALTH_HOST', 'HOST', 'PORT'],
  ...['NATS_USER', 'NATS_PASSWORD', 'MONGODB_PASSWORD', 'SWITCHYARD_PROVIDERS_SECRET'],
  ...['SWITCHYARD_COMPUTERS_OFF_REASON', 'SWITCHYARD_INSTANCE'],
]);

test.each(Object.entries(CONFIGS))(
  'docker-compose.yml passes on all settings of %s, and no others',
  (service, schema) => {
    const text = readFileSync(join(import.meta.dirname, '../docker-compose.yml'), 'utf8');
    const { services } = load(text, { schema: CORE_SCHEMA.withTags(mergeTag) }) as {
      services: Record<string, { environment: Record<string, string> }>;
    };
    const passedOn = Object.keys(services[service]?.environment ?? {});
    const left = (names: string[]) => names.filter((name) => !NOT_IN_COMPOSE.has(name)).sort();
    expect(left(passedOn)).toEqual(left(Object.keys(schema.shape)));
  },
);
