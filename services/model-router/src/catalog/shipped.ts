// The catalog files shipped with Switchyard, one per maker, in load order: the local models, which need no key, come first.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../catalog');
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));

export const SHIPPED_CATALOGS: readonly string[] = [...new Set(['local.yaml', ...FILES.toSorted()])].map(
  (file) => join(FOLDER, file),
);
