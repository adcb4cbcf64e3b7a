// What of the engine's words about a failed pull its caller may read. A registry can send the engine on to anywhere, the
// host's neighbours included, and the engine's words then tell what it met there: whether somebody listens, and what was
// answered. Of the registry itself everything may be told.
import { registryOf } from './registry-address.ts';

/** The engine's own registry has more than one host. */
const DEFAULT_REGISTRY = /(^|\.)docker\.(io|com)$/;
const WORDS_CHARS_MAX = 300;
const ELSEWHERE = 'its registry sent the engine elsewhere, and it was not had there';

export function wordsToShow(words: string, image: string): string {
  const registry = registryOf(image);
  const isRegistry = (host: string) =>
    registry === undefined ? DEFAULT_REGISTRY.test(host) : host.toLowerCase() === registry.toLowerCase();
  const hosts = [...words.matchAll(/\bhttps?:\/\/(\[[^\]]*\]|[^/\s":?]*)/gi)].map(([, host = '']) => host);
  if (!hosts.every(isRegistry)) return ELSEWHERE;
  return (
    words
      // Word for word what somebody answered.
      .replace(/(response body).*$/s, '$1 that is none of a registry')
      // Addresses of the host's networks and name servers.
      .replace(/\b(dial|read|write) (tcp|udp)[^ :]*( [^ ]+)?: /g, '')
      .replace(/ on [0-9a-f.:[\]]+:53\b/g, '')
      .slice(0, WORDS_CHARS_MAX)
  );
}
