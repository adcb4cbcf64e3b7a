// Checks of a URL before its name is resolved, and of each address that the name resolves to.
import { isIP } from 'node:net';
import type { ServiceError } from '@switchyard/contracts';
import { type AllowList, allowsAddress, allowsEndpoint } from './allow-list.ts';
import { urlNotAllowed } from './failures.ts';
import { isPublicAddress, parseAddress } from './public-address.ts';

/** Ports of web servers. Others serve protocols that a forged HTTP request could abuse. */
const PUBLIC_PORTS = new Set([80, 443, 8080, 8443]);
const URL_LENGTH_MAX = 8_192;

export interface Target {
  readonly url: URL;
  /** As a URL spells it: lower case, in punycode, IPv6 in brackets. */
  readonly host: string;
  readonly port: number;
  /** The address that the URL names, in canonical spelling; null for a name. */
  readonly literal: string | null;
}

/**
 * Reads a URL. Odd spellings of addresses (`0x7f.1`, `2130706433`, `0177.0.0.1`) become the canonical one.
 * @throws ServiceError `url_not_allowed`, naming the parameter.
 */
export function readTarget(text: string, param: string): Target {
  if (text.length > URL_LENGTH_MAX)
    throw urlNotAllowed(param, `the URL exceeds ${URL_LENGTH_MAX} characters. Use a shorter one.`);
  if (!URL.canParse(text)) throw urlNotAllowed(param, 'not an absolute URL. Use https://….');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw urlNotAllowed(param, 'unsupported protocol. Use https or http.');
  if (url.username !== '' || url.password !== '')
    throw urlNotAllowed(param, 'the URL has a user name or password. Remove it.');
  const host = url.hostname;
  const bare = host.startsWith('[') ? host.slice(1, -1) : host;
  return {
    url,
    host,
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    literal: isIP(bare) === 0 ? null : bare,
  };
}

/** Whether one address of this target may be connected to. */
export function mayConnect(
  { allow, refused }: { readonly allow: AllowList; readonly refused: ReadonlySet<string> },
  { host, port }: Target,
  address: string,
): boolean {
  if (allowsEndpoint(allow, host, port) || allowsAddress(allow, address)) return true;
  return PUBLIC_PORTS.has(port) && isPublicAddress(address) && !refused.has(parseAddress(address).toString());
}

/** The error if no address of a target is allowed. It reveals nothing about the addresses. */
export function refusal({ port }: Target, param: string): ServiceError {
  const ports = [...PUBLIC_PORTS].join(', ');
  return urlNotAllowed(
    param,
    PUBLIC_PORTS.has(port)
      ? 'the host is not a public address. Use a public one.'
      : `only the ports ${ports} of public addresses are allowed. Use one of them.`,
  );
}
