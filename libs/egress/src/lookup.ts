// From a name to its addresses, without the thread pool: the system's own lookup takes one of the process's few threads
// until it is answered, so that a caller whose name servers never answer could hold up every file and every hash of it.
import { Resolver, lookup as systemLookup } from 'node:dns/promises';

/** Resolves a name to all its addresses, in the order in which they are to be tried. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** For one question to one name server, and how often it is asked. */
const ANSWER_TIMEOUT_MS = 2_000;
const QUESTIONS_MAX = 2;

/** What says that no name server knows the name, or that there is none: the answer comes at once, from the hosts file if at all. */
const UNKNOWN_CODES: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];

/** IPv4 first: what has both is reached that way from everywhere. */
export function createLookup(
  resolver: Resolver = new Resolver({ timeout: ANSWER_TIMEOUT_MS, tries: QUESTIONS_MAX }),
): Lookup {
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const failure = answers.find(
      (answer) => answer.status === 'rejected' && !UNKNOWN_CODES.includes(answer.reason?.code),
    );
    if (failure?.status === 'rejected') throw failure.reason;
    return (await systemLookup(host, { all: true })).map(({ address }) => address);
  };
}
