// The fetch that a provider package is given for one call: our connections, no clocks but the attempt's, and the
// caller's own members put into the maker's request body as bytes, since the AI SDK would check them against its own
// schemas and drop what it does not know.
import { type Dispatcher, type RequestInit, FormData as UndiciFormData, fetch as undiciFetch } from 'undici';
import { topLevelMembers } from '../../answers/json-members.ts';
import { type Edit, splice } from '../../answers/splice.ts';

/** Header of a call that is to go nowhere: the provider package is only asked what it would leave out (chat/settings.ts). */
export const REHEARSAL = 'x-switchyard-rehearsal';

/** Members for the top level of the maker's body: JSON text by name, as the caller wrote it. */
export type WireMembers = ReadonlyMap<string, string>;

export interface ProviderFetchOptions {
  dispatcher: Dispatcher;
  requestId: string;
  /** Read when a request goes out: a translation adds to it until then. */
  members: WireMembers;
  /** Where in the maker's request the members go: see declaration.ts. */
  places: MemberPlaces;
  /** Sees every answer before the provider package does, and gives it the one to read. */
  look?: (response: Response) => Response;
}

/** Where in the maker's request the members go: see declaration.ts. */
export interface MemberPlaces {
  readonly containers?: readonly string[] | undefined;
  readonly repeated?: readonly string[] | undefined;
  readonly settingsInQuery?: boolean | undefined;
}

/**
 * The caller's members go into every POST: at the top level of a JSON body, as fields of a form, or as the query of a
 * body that is the file itself. GETs (a job's status, a result) go out as they are.
 */
export function providerFetch(options: ProviderFetchOptions): typeof globalThis.fetch {
  const { dispatcher, requestId, members, places } = options;
  const fetch = async (input: string | URL, init: globalThis.RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (headers.has(REHEARSAL)) return new Response('', { headers: { 'content-type': 'text/event-stream' } });
    headers.set('x-request-id', requestId);
    const posts = init.method?.toUpperCase() === 'POST';
    const sent = posts ? withMembers(String(input), init.body, members, places) : { body: init.body };
    const response = await undiciFetch(sent.url ?? input, {
      ...(init.method === undefined ? {} : { method: init.method }),
      signal: init.signal ?? null,
      headers: [...headers],
      body: sent.body as NonNullable<RequestInit['body']>,
      dispatcher,
      // A redirect would carry the maker's key to wherever it points.
      redirect: (init.redirect ?? (posts ? 'error' : 'follow')) as NonNullable<RequestInit['redirect']>,
    });
    return options.look?.(response as unknown as Response) ?? response;
  };
  return fetch as unknown as typeof globalThis.fetch; // undici's own types of the same standard
}

interface Sent {
  url?: string;
  body: unknown;
}

function withMembers(url: string, body: unknown, members: WireMembers, places: MemberPlaces): Sent {
  if (body instanceof FormData) return { body: withFields(body, members) };
  if (members.size === 0) return { body };
  if (typeof body !== 'string' || places.settingsInQuery) return { url: withQuery(url, members), body };
  const bytes = Buffer.from(body);
  const { containers, repeated = [] } = places;
  const own = topLevelMembers(bytes);
  const list = repeated
    .flatMap((name) => own.get(name) ?? [])
    .find(({ valueStart }) => bytes[valueStart] === OPEN_LIST);
  if (!list) return { body: mergeMembers(bytes, members, containers) };
  const text = mergeIntoEach(bytes.subarray(list.valueStart, list.valueEnd), members, containers);
  return { body: splice(bytes, [{ start: list.valueStart, end: list.valueEnd, text }]) };
}

/** The caller's members in each object of a list; the list is the provider package's own, and nobody's bytes. */
function mergeIntoEach(list: Buffer, members: WireMembers, containers?: readonly string[]): string {
  const elements = JSON.parse(list.toString('utf8')) as unknown[];
  const merged = elements.map((one) => mergeMembers(Buffer.from(JSON.stringify(one)), members, containers));
  return `[${merged.join(',')}]`;
}

const OPEN_LIST = 0x5b;

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
  for (const [name, text] of members) for (const value of plain(text)) copy.append(name, value);
  return copy;
}

function withQuery(url: string, members: WireMembers): string {
  const to = new URL(url);
  for (const [name, text] of members) {
    to.searchParams.delete(name);
    for (const value of plain(text)) to.searchParams.append(name, value);
  }
  return to.href;
}

/** Forms and queries have no types: a string goes without its quotes, a list as its field repeated, all else as JSON. */
function plain(json: string): string[] {
  if (json.startsWith('[')) return (JSON.parse(json) as unknown[]).map(asText);
  return [json.startsWith('"') ? asText(JSON.parse(json)) : json];
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
