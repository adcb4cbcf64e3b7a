// Identifiers: a prefix that tells the kind, then characters safe in a NATS subject, a URL and a file name.
import { randomBytes } from 'node:crypto';
import { z } from 'zod';

export const ID_PREFIXES = {
  org: 'org_',
  key: 'key_',
  request: 'req_',
  computer: 'cmp_',
  host: 'host_',
  event: 'evt_',
  file: 'file_',
  webhook: 'wh_',
  video: 'vid_',
  credit: 'crd_',
  refund: 'rfd_',
} as const;

type IdKind = keyof typeof ID_PREFIXES;

/** Every id and every token of a subject is made of these: no dot, no blank, nothing to escape. */
export const ID_PATTERN = /^[A-Za-z0-9_-]{1,128}$/;

/** A schema for an id of this kind, by prefix and alphabet. */
export function idOf(kind: IdKind) {
  const prefix = ID_PREFIXES[kind];
  return z.string().regex(new RegExp(`^${prefix}[A-Za-z0-9_-]{1,100}$`), `must be an id like ${prefix}…`);
}

/** A new random id with 120 bits: unguessable, and never the same twice. */
export function newId(kind: IdKind): string {
  return ID_PREFIXES[kind] + randomBytes(15).toString('base64url');
}

/** The org that owns everything until an installation creates others. */
export const DEFAULT_ORG = 'org_default';
