// The caller's body as the upstream is to see it: the upstream's own name for the model, our fallback list taken out,
// the usage of a stream asked for; every other byte as the caller wrote it.
import { type Member, topLevelMembers } from './json-members.ts';
import { type Edit, splice } from './splice.ts';

export interface UpstreamBodyOptions {
  /** The upstream's own name for the model. */
  model: string;
  stream: boolean;
  /** Tokens of the answer at the most, in the place of what the caller asked for. */
  outputTokensMax?: number | undefined;
}

/** @throws SyntaxError when the body is no JSON object. */
export function upstreamBody(given: Buffer, { model, stream, outputTokensMax }: UpstreamBodyOptions): Buffer {
  const { body, members } = unambiguous(given);
  const edits: Edit[] = [];
  const inserted: string[] = [];
  const modelMember = members.get('model');
  if (modelMember)
    edits.push({ start: modelMember.valueStart, end: modelMember.valueEnd, text: JSON.stringify(model) });
  else inserted.push(`"model":${JSON.stringify(model)}`);
  const models = members.get('models');
  if (models) edits.push(removal(body, models));
  if (stream) {
    const options = members.get('stream_options');
    if (options)
      edits.push({ start: options.valueStart, end: options.valueEnd, text: withUsage(body, options) });
    else inserted.push('"stream_options":{"include_usage":true}');
  }
  if (outputTokensMax !== undefined) {
    const named = members.get('max_completion_tokens') ?? members.get('max_tokens');
    if (named) edits.push({ start: named.valueStart, end: named.valueEnd, text: String(outputTokensMax) });
    else inserted.push(`"max_tokens":${outputTokensMax}`);
  }
  const open = body.indexOf('{') + 1;
  // Always in front of at least one member (`messages`, `input`), hence the closing comma.
  if (inserted.length > 0) edits.push({ start: open, end: open, text: `${inserted.join(',')},` });
  return splice(body, edits);
}

/** What the router goes by: of these the upstream must see no other value than it, whichever of repeated keys it takes. */
const OURS = ['model', 'models', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens'];

/** The body with each key once: written anew where one of ours is repeated in it. */
function unambiguous(given: Buffer): { body: Buffer; members: Map<string, Member> } {
  const members = topLevelMembers(given);
  if (!OURS.some((name) => members.get(name)?.repeated)) return { body: given, members };
  const body = Buffer.from(JSON.stringify(JSON.parse(given.toString('utf8'))));
  return { body, members: topLevelMembers(body) };
}

function withUsage(body: Buffer, { valueStart, valueEnd }: Member): string {
  const options: unknown = JSON.parse(body.toString('utf8', valueStart, valueEnd));
  return JSON.stringify({ ...(options as object | null), include_usage: true });
}

/** A member goes with the comma behind it, or, where it is the last, with the one before it. */
function removal(body: Buffer, { keyStart, valueEnd }: Member): Edit {
  let end = valueEnd;
  while (isBlank(body[end])) end += 1;
  if (body[end] === 0x2c) return { start: keyStart, end: end + 1, text: '' };
  let start = keyStart;
  while (isBlank(body[start - 1])) start -= 1;
  return { start: body[start - 1] === 0x2c ? start - 1 : keyStart, end: valueEnd, text: '' };
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
