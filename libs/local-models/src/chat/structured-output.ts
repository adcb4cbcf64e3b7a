// `response_format`: JSON that satisfies the caller's schema, filled from the message and the tool results.
import type { OutputFormat } from './chat-request.ts';
import type { Conversation } from './conversation.ts';
import { isSchema, type JsonSchema } from './schema/json-schema.ts';
import type { FillSchema } from './schema/schema-worker.ts';

const SCHEMA_LENGTH_MAX = 100_000;

export async function structuredOutput(
  format: Exclude<OutputFormat, { type: 'text' }>,
  conversation: Conversation,
  reply: string,
  fill: FillSchema,
): Promise<string> {
  const written = format.type === 'json_schema' ? null : schemaInMessages(conversation);
  const schema = format.type === 'json_schema' ? format.schema : written?.schema;
  const said = conversation.said.replace(written?.source ?? '', '');
  const text = [said, ...conversation.toolResults.map((result) => result.text)].join('\n');
  return JSON.stringify(schema ? await fill({ schema, text, reply }) : { answer: reply });
}

interface WrittenSchema {
  schema: JsonSchema;
  /** As written in the message. */
  source: string;
}

/** Clients that know only `json_object` write it into a message: the first JSON object after the word `schema`. */
function schemaInMessages({ earlier, said }: Conversation): WrittenSchema | null {
  const texts = [...earlier.filter(({ role }) => role === 'system').map(({ text }) => text), said];
  for (const text of texts) {
    const named = /\bschema\b[^{]{0,100}(\{)/i.exec(text.slice(0, SCHEMA_LENGTH_MAX));
    const written = named ? balancedObject(text, named.index + named[0].length - 1) : null;
    if (written !== null) return written;
  }
  return null;
}

/** The JSON object that begins at this brace; null when it is none. */
function balancedObject(text: string, start: number): WrittenSchema | null {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < Math.min(text.length, start + SCHEMA_LENGTH_MAX); at += 1) {
    const character = text[at];
    if (quoted && character === '\\') at += 1;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === '{') depth += 1;
    else if (!quoted && character === '}') depth -= 1;
    if (depth === 0) return parseObject(text.slice(start, at + 1));
  }
  return null;
}

function parseObject(source: string): WrittenSchema | null {
  try {
    const schema: unknown = JSON.parse(source);
    return isSchema(schema) ? { schema, source } : null;
  } catch {
    return null;
  }
}
