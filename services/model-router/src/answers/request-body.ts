// Adapts the caller's body for the upstream: sets the upstream's model name, removes our fallback list, requests the
// usage of a stream, and keeps every other byte.
import { parseExactly } from '../json/exact-integers.ts';
import { isBlank, type Member, parseMember, topLevelMembers } from '../json/json-members.ts';
import { type Edit, withMembers } from '../json/splice.ts';

interface UpstreamBodyOptions {
  /** The upstream's own name for the model. */
  model: string;
  stream: boolean;
  /** Maximum output tokens; replaces the caller's limit. */
  outputTokensMax?: number | undefined;
  /** Names of that limit; the first is set when the caller sets none. Default: chat's. */
  lengths?: readonly [string, ...string[]];
}

/** @throws SyntaxError when the body is not a JSON object. */
export function upstreamBody(
  given: Buffer,
  { model, stream, outputTokensMax, lengths = CHAT_LENGTHS }: UpstreamBodyOptions,
): Buffer {
  const { body, members } = unambiguous(given);
  const values: [string, string][] = [['model', JSON.stringify(model)]];
  if (stream) {
    const options = members.get('stream_options');
    const asked = options ? (parseMember(body, options) as object | null) : {};
    values.push(['stream_options', JSON.stringify({ ...asked, include_usage: true })]);
  }
  if (outputTokensMax !== undefined) {
    const named = lengths.filter((name) => members.has(name));
    for (const name of named.length > 0 ? named : [lengths[0]]) {
      const asked = named.length > 0 ? parseMember(body, members.get(name) as Member) : null;
      const tokens = typeof asked === 'number' ? Math.min(asked, outputTokensMax) : outputTokensMax;
      values.push([name, String(tokens)]);
    }
  }
  const models = members.get('models');
  return withMembers(body, members, values, models ? [removal(body, models)] : []);
}

/** Makers differ in which of the two they read. */
const CHAT_LENGTHS = ['max_tokens', 'max_completion_tokens'] as const;

/** Removes repeated keys, since a reader may take the first of two where we take the last. */
function unambiguous(given: Buffer): { body: Buffer; members: Map<string, Member> } {
  const members = topLevelMembers(given);
  if (![...members.values()].some(({ repeated }) => repeated)) return { body: given, members };
  const body = Buffer.from(JSON.stringify(parseExactly(given.toString('utf8'))));
  return { body, members: topLevelMembers(body) };
}

/** Removes a member with the comma behind it, or, for the last member, the comma before it. */
function removal(body: Buffer, { keyStart, valueEnd }: Member): Edit {
  let end = valueEnd;
  while (isBlank(body[end])) end += 1;
  if (body[end] === 0x2c) return { start: keyStart, end: end + 1, text: '' };
  let start = keyStart;
  while (isBlank(body[start - 1])) start -= 1;
  return { start: body[start - 1] === 0x2c ? start - 1 : keyStart, end: valueEnd, text: '' };
}
