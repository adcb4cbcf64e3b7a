// The catalog files that come with Switchyard, in the order in which they are read.
import { join } from 'node:path';

export const SHIPPED_CATALOGS: readonly string[] = ['local.yaml', 'local-more.yaml', 'local-video.yaml'].map(
  (file) => join(import.meta.dirname, '../../catalog', file),
);
