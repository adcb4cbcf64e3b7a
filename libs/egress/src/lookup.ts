// Resolves names without the thread pool: `getaddrinfo` holds one of the process's few threads until it is answered, so
// a caller whose name servers never answer could block all file access and hashing.
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';

/** Resolves a name to all its addresses, in the order in which they are to be tried. */
export type Lookup = (host: string) => Promise<readonly string[]>;

const HOSTS_FILE = '/etc/hosts';
/** For one query to one name server, and the number of tries. */
const ANSWER_TIMEOUT_MS = 2_000;
const QUESTIONS_MAX = 2;

/** No name server knows the name, or none is reachable: then the hosts file decides. */
const UNKNOWN_CODES: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];

/** IPv4 first: not every network has a route for IPv6. */
export function createLookup(
  resolver: Resolver = new Resolver({ timeout: ANSWER_TIMEOUT_MS, tries: QUESTIONS_MAX }),
): Lookup {
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    const failure = failures.find(({ code }) => !UNKNOWN_CODES.includes(code));
    if (failure) throw failure;
    const local = await addressesInHostsFile(host);
    if (local.length === 0) throw failures[0];
    return local;
  };
}

async function addressesInHostsFile(host: string): Promise<string[]> {
  const name = host.toLowerCase().replace(/\.$/, '');
  const text = await readFile(HOSTS_FILE, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.toLowerCase().replace(/#.*/, '').trim().split(/\s+/);
    return names.includes(name) ? [address] : [];
  });
}
