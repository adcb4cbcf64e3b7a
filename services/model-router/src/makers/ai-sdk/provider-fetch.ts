// The fetch that a provider package uses for one call: our connections, only the attempt's timeouts, and the caller's
// own members spliced into the request body as bytes. The AI SDK would validate such members and drop unknown ones.
import type { Egress } from '@switchyard/egress';
import { type Dispatcher, type RequestInit, FormData as UndiciFormData, fetch as undiciFetch } from 'undici';
import { getElsewhere, isAtMaker } from '../../http/named-by-maker.ts';
import { withinOrigin } from '../../http/within-origin.ts';
import { topLevelMembers } from '../../json/json-members.ts';
import { splice, withMembers } from '../../json/splice.ts';
import type { MemberPlaces } from './declaration.ts';

/** Marks a call that is not sent: the provider package only reports what it would ignore (chat/settings.ts). */
export const DRY_RUN = 'x-switchyard-dry-run';

/** Maximum size of an answer in one piece as it arrives. A vector may have five times as many bytes as in our answer. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** The highest status that a Response may have. Every higher one is a fault too. */
const STATUS_MAX = 599;

/** Members for the top level of the maker's body: JSON text by name, as the caller wrote it. */
export type WireMembers = ReadonlyMap<string, string>;

interface ProviderFetchOptions {
  dispatcher: Dispatcher;
  /** Reaches URLs that the maker names outside its origin. */
  egress: Pick<Egress, 'fetch'>;
  /** Base URL of the maker. */
  base: string;
  requestId: string;
  /** Read when a request is sent; a translation may add members until then. */
  members: WireMembers;
  places: MemberPlaces;
  /** The call asks for a stream of events, which has no limit. */
  streams: boolean;
  /** Called before each request goes out. */
  onRequest?: () => void;
  /** Intercepts each answer and returns the one that the provider package reads. */
  look?: (response: Response) => Response;
}

/**
 * Adds the caller's members to every POST: at the top level of a JSON body, as fields of a form, or in the query if the
 * body is the file itself. GETs (a job's status, a result) are sent unchanged.
 */
export function providerFetch(options: ProviderFetchOptions): typeof globalThis.fetch {
  const { dispatcher, egress, base, requestId, members, places, streams } = options;
  const fetch = async (input: string | URL, init: globalThis.RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (headers.has(DRY_RUN)) return new Response('', { headers: { 'content-type': 'text/event-stream' } });
    headers.set('x-request-id', requestId);
    const posts = init.method?.toUpperCase() === 'POST';
    const sent = posts ? withCallersMembers(String(input), init.body, members, places) : { body: init.body };
    options.onRequest?.();
    const response = await withinOrigin(sent.url ?? input, init.method, (url) =>
      !posts && !isAtMaker(url, base)
        ? getElsewhere(egress, url, { headers: Object.fromEntries(headers), signal: init.signal })
        : undiciFetch(url, {
            ...(init.method === undefined ? {} : { method: init.method }),
            signal: init.signal ?? null,
            headers: [...headers],
            body: sent.body as NonNullable<RequestInit['body']>,
            dispatcher,
            redirect: 'manual',
          }),
    );
    const answer = withLimit(response as unknown as Response, streams);
    return options.look?.(answer) ?? answer;
  };
  return fetch as unknown as typeof globalThis.fetch; // undici has its own types for the same standard
}

/** Provider packages read any answer to its end, except a stream that was asked for, which is passed on while it arrives. */
function withLimit(response: Response, streams: boolean): Response {
  const { body, headers, statusText } = response;
  const isStream = streams && headers.get('content-type')?.startsWith('text/event-stream');
  if (body === null || isStream) return response;
  let bytes = 0;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) throw new Error(`the answer is over ${ANSWER_BYTES_MAX} bytes`);
      controller.enqueue(chunk);
    },
  });
  const status = Math.min(response.status, STATUS_MAX);
  return new Response(body.pipeThrough(counting), { status, statusText, headers });
}

interface Sent {
  url?: string;
  body: unknown;
}

function withCallersMembers(url: string, body: unknown, members: WireMembers, places: MemberPlaces): Sent {
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

/** Adds the caller's members to each object of a list, which the provider package itself created. */
function mergeIntoEach(list: Buffer, members: WireMembers, containers?: readonly string[]): string {
  const elements = JSON.parse(list.toString('utf8')) as unknown[];
  const merged = elements.map((one) => mergeMembers(Buffer.from(JSON.stringify(one)), members, containers));
  return `[${merged.join(',')}]`;
}

const OPEN_LIST = 0x5b;

/** Adds members to a JSON object: replaces members with the same name, merges into containers, appends the rest. */
export function mergeMembers(body: Buffer, members: WireMembers, containers: readonly string[] = []): Buffer {
  const own = topLevelMembers(body);
  const values = [...members].map(([name, text]) => {
    const member = containers.includes(name) ? own.get(name) : undefined;
    return [
      name,
      member ? mergeObjects(body.subarray(member.valueStart, member.valueEnd), text) : text,
    ] as const;
  });
  return withMembers(body, own, values);
}

function mergeObjects(ours: Buffer, theirs: string): string {
  if (ours[0] !== OPEN_BRACE || theirs[0] !== '{') return theirs;
  return mergeMembers(ours, rawMembers(Buffer.from(theirs))).toString('utf8');
}

const OPEN_BRACE = 0x7b;

/** The unparsed members of a JSON object. */
export function rawMembers(object: Buffer): Map<string, string> {
  const entries = [...topLevelMembers(object)];
  return new Map(
    entries.map(([name, { valueStart, valueEnd }]) => [name, object.toString('utf8', valueStart, valueEnd)]),
  );
}

/** Converts the form to undici's own class, which its fetch requires, and adds the caller's members as fields. */
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

/**
 * Converts a JSON value for forms and queries: a string without quotes, a list as a repeated field, the rest as JSON.
 */
function plain(json: string): string[] {
  if (json.startsWith('[')) return (JSON.parse(json) as unknown[]).map(asText);
  return [json.startsWith('"') ? asText(JSON.parse(json)) : json];
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
