// The fetch that a provider package is given for one call: our connections, no clocks but the attempt's, and the
// caller's own members put into the maker's request body as bytes, since the AI SDK would check them against its own
// schemas and drop what it does not know.
import { type Dispatcher, type RequestInit, FormData as UndiciFormData, fetch as undiciFetch } from 'undici';
import { topLevelMembers } from '../../answers/json-members.ts';
import { type Edit, splice } from '../../answers/splice.ts';

/** Members for the top level of the maker's body: JSON text by name, as the caller wrote it. */
export type WireMembers = ReadonlyMap<string, string>;

export interface ProviderFetchOptions {
  dispatcher: Dispatcher;
  requestId: string;
  /** Read when a request goes out: a translation adds to it until then. */
  members: WireMembers;
  /** See `containers` in declaration.ts. */
  containers: readonly string[];
}

/**
 * The caller's members go into every POST: at the top level of a JSON body, as fields of a form, or as the query of a
 * body that is the file itself. GETs (a job's status, a result) go out as they are.
 */
export function providerFetch(options: ProviderFetchOptions): typeof globalThis.fetch {
  const { dispatcher, requestId, members, containers } = options;
  const fetch = async (input: string | URL, init: globalThis.RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('x-request-id', requestId);
    const posts = init.method?.toUpperCase() === 'POST';
    const sent = posts ? withMembers(String(input), init.body, members, containers) : { body: init.body };
    return undiciFetch(sent.url ?? input, {
      ...(init.method === undefined ? {} : { method: init.method }),
      signal: init.signal ?? null,
      headers: [...headers],
      body: sent.body as NonNullable<RequestInit['body']>,
      dispatcher,
      // A redirect would carry the maker's key to wherever it points.
      redirect: (init.redirect ?? (posts ? 'error' : 'follow')) as NonNullable<RequestInit['redirect']>,
    });
  };
  return fetch as unknown as typeof globalThis.fetch; // undici's own types of the same standard
}

interface Sent {
  url?: string;
  body: unknown;
}

function withMembers(url: string, body: unknown, members: WireMembers, containers: readonly string[]): Sent {
  if (body instanceof FormData) return { body: withFields(body, members) };
  if (members.size === 0) return { body };
  if (typeof body === 'string') return { body: mergeMembers(Buffer.from(body), members, containers) };
  return { url: withQuery(url, members), body };
}

/** The JSON object with these members: in place of its own of that name, merged into it in a container, else added. */
export function mergeMembers(body: Buffer, members: WireMembers, containers: readonly string[] = []): Buffer {
  const own = topLevelMembers(body);
  const edits: Edit[] = [];
  const added: string[] = [];
  for (const [name, text] of members) {
    const member = own.get(name);
    if (!member) added.push(`${JSON.stringify(name)}:${text}`);
    else {
      const { valueStart: start, valueEnd: end } = member;
      const merged = containers.includes(name) ? mergeObjects(body.subarray(start, end), text) : text;
      edits.push({ start, end, text: merged });
    }
  }
  const open = body.indexOf('{') + 1;
  const text = added.join(',') + (own.size > 0 && added.length > 0 ? ',' : '');
  if (text !== '') edits.push({ start: open, end: open, text });
  return splice(body, edits);
}

function mergeObjects(ours: Buffer, theirs: string): string {
  if (ours[0] !== OPEN_BRACE || theirs[0] !== '{') return theirs;
  return mergeMembers(ours, rawMembers(Buffer.from(theirs))).toString('utf8');
}

const OPEN_BRACE = 0x7b;

/** The members of a JSON object as they stand in it. */
export function rawMembers(object: Buffer): Map<string, string> {
  const entries = [...topLevelMembers(object)];
  return new Map(
    entries.map(([name, { valueStart, valueEnd }]) => [name, object.toString('utf8', valueStart, valueEnd)]),
  );
}

/** The same form in undici's own class, which its fetch wants, with the caller's members as fields. */
function withFields(form: FormData, members: WireMembers): UndiciFormData {
  const copy = new UndiciFormData();
  for (const [name, value] of form)
    if (members.has(name)) continue;
    else if (typeof value === 'string') copy.append(name, value);
    else copy.append(name, value, value.name);
  for (const [name, text] of members) copy.append(name, plain(text));
  return copy;
}

function withQuery(url: string, members: WireMembers): string {
  const to = new URL(url);
  for (const [name, text] of members) to.searchParams.set(name, plain(text));
  return to.href;
}

/** A string without its quotes, anything else as JSON: forms and queries have no types. */
function plain(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}
