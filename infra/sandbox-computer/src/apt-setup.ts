// The host's apt configuration for the base system and the image: its mirror, its proxy, and the options that the mirror
// needs. An address with a user name or a password never goes into an image.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const APT_TIMEOUT_MS = 10_000;
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

/** Reads the configuration of this host. */
export async function readAptSetup(directory = '/etc/apt'): Promise<AptSetup> {
  const archives = await readArchives(directory);
  const config = await readConfig();
  return {
    mirror: chooseMirror(archives, /\/debian$/),
    securityMirror: chooseMirror(archives, /\/debian-security$/),
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

/** Debian's archives have the same path on every mirror. Addresses with credentials are skipped. */
function chooseMirror(archives: readonly string[], path: RegExp): string | undefined {
  return archives
    .map((uri) => uri.replace(/\/+$/, ''))
    .find((uri) => /^https?:\/\/[^@]+$/.test(uri) && path.test(uri));
}

/** Without --no-release-info, apt leaves out archives whose lists it has never fetched, as in most containers. */
async function readArchives(directory: string): Promise<string[]> {
  const options = ['-o', `Dir::Etc=${directory}`, '--no-release-info', '--format', '$(REPO_URI)'];
  return (await ask('apt-get', 'indextargets', ...options, 'Created-By: Packages')).split('\n');
}

async function readConfig(): Promise<Map<string, string>> {
  const dump = await ask('apt-config', 'dump');
  return new Map([...dump.matchAll(/^(\S+) "(.*)";$/gm)].map((match) => [match[1] ?? '', match[2] ?? '']));
}

/** What the program prints; nothing on a host without it. */
async function ask(program: string, ...options: string[]): Promise<string> {
  return run(program, options, { timeout: APT_TIMEOUT_MS }).then(
    ({ stdout }) => stdout,
    () => '',
  );
}
