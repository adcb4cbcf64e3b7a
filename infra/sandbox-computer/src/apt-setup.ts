// The host's apt configuration for the base system and the image: its mirror, its proxy, and the options that the mirror
// needs. An address with a user name or a password never goes into an image.
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const APT_CONFIG_TIMEOUT_MS = 10_000;
export const RELEASE = 'bookworm';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** Options that say how to reach a mirror and how old it may be. */
const OPTIONS_CARRIED = [
  'Acquire::Check-Valid-Until',
  'Acquire::Check-Date',
  'Acquire::ForceIPv4',
  'Acquire::Retries',
];

export interface AptSetup {
  /** Undefined if the host names no Debian archive: the base system then keeps its own sources. */
  readonly mirror: string | undefined;
  readonly securityMirror: string | undefined;
  /** Lines for apt.conf. */
  readonly options: readonly string[];
  readonly proxy: string | undefined;
}

/** One archive that a host's configuration names. */
interface AptSource {
  readonly uri: string;
  readonly suite: string;
}

/** Reads the configuration of this host. */
export async function readAptSetup(directory = '/etc/apt'): Promise<AptSetup> {
  const sources = await readSources(directory);
  const config = await readConfig();
  return {
    mirror: chooseMirror(sources, /\/debian$/),
    securityMirror: chooseMirror(sources, /\/debian-security$/),
    options: OPTIONS_CARRIED.flatMap((name) => {
      const value = config.get(name);
      return value === undefined ? [] : [`${name} "${value}";`];
    }),
    proxy: config.get('Acquire::http::Proxy') || undefined,
  };
}

/** A deb822 file with release, updates and security fixes; empty where no mirror is known. */
export function renderSources({ mirror, securityMirror }: AptSetup): string {
  const stanza = (uri: string, suites: string) =>
    `Types: deb\nURIs: ${uri}\nSuites: ${suites}\nComponents: main\nSigned-By: ${KEYRING}\n`;
  if (!mirror) return '';
  return [
    stanza(mirror, `${RELEASE} ${RELEASE}-updates`),
    ...(securityMirror ? [stanza(securityMirror, `${RELEASE}-security`)] : []),
  ].join('\n');
}

/** The sources of a file in apt's one-line form (`deb [options] uri suite ...`). */
export function parseOneLineSources(text: string): AptSource[] {
  return [...text.matchAll(/^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)/gm)].map((match) => ({
    uri: match[1] ?? '',
    suite: match[2] ?? '',
  }));
}

/** The sources of a file in apt's deb822 form (`URIs:`, `Suites:`). */
export function parseDeb822Sources(text: string): AptSource[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const field = (name: string) =>
      (stanza.match(new RegExp(`^${name}:(.*(?:\\n[ \\t].*)*)`, 'im'))?.[1] ?? '')
        .split(/\s+/)
        .filter(Boolean);
    if (field('Enabled')[0] === 'no' || !field('Types').includes('deb')) return [];
    return field('URIs').flatMap((uri) => field('Suites').map((suite) => ({ uri, suite })));
  });
}

/** Debian's archives have the same path on every mirror. Addresses with credentials are skipped. */
function chooseMirror(sources: readonly AptSource[], path: RegExp): string | undefined {
  const candidates = sources
    .map(({ uri }) => uri.replace(/\/+$/, ''))
    .filter((uri) => /^https?:\/\/[^@]+$/.test(uri) && path.test(uri));
  return candidates[0];
}

async function readSources(directory: string): Promise<AptSource[]> {
  const parts = join(directory, 'sources.list.d');
  const names = await readdir(parts).catch(() => []);
  const files = [
    join(directory, 'sources.list'),
    ...names.filter((name) => /\.(list|sources)$/.test(name)).map((name) => join(parts, name)),
  ];
  const found = await Promise.all(
    files.map(async (file) => {
      const text = (await readFile(file, 'utf8').catch(() => '')).replace(/^\s*#.*\n?/gm, '');
      return file.endsWith('.sources') ? parseDeb822Sources(text) : parseOneLineSources(text);
    }),
  );
  return found.flat();
}

async function readConfig(): Promise<Map<string, string>> {
  const dump = await run('apt-config', ['dump'], { timeout: APT_CONFIG_TIMEOUT_MS }).catch(() => ({
    stdout: '',
  }));
  return new Map(
    [...dump.stdout.matchAll(/^(\S+) "(.*)";$/gm)].map((match) => [match[1] ?? '', match[2] ?? '']),
  );
}
