// What a caller says about a request besides its body: tags, its own request id, and its trace. Events and Logs carry it.
import { z } from 'zod';
import { boundedMap } from './bounded.ts';
import { storedText } from './stored-text.ts';

export const TAGS_HEADER = 'X-Service-Tags';
export const CLIENT_REQUEST_ID_HEADER = 'X-Client-Request-Id';
export const TRACEPARENT_HEADER = 'traceparent';

export const TAGS_MAX = 16;
/** Characters of an X-Client-Request-Id, as at OpenAI. */
export const CLIENT_REQUEST_ID_LENGTH_MAX = 512;

const TAG_NAME = '[A-Za-z0-9][A-Za-z0-9_.-]{0,63}';
/** No comma and no control character, so that a tag also fits into the header and into a cell of CSV. */
const TAG_VALUE = /^[ -+\--~\u00a0-\uffff]{1,128}$/;

const tagName = z
  .string()
  .regex(
    new RegExp(`^${TAG_NAME}$`),
    'must be at most 64 letters, digits, "_", "." or "-", a letter or digit first',
  );
const tagValue = storedText(z.string().regex(TAG_VALUE, 'must be 1 to 128 characters without commas'));

/** Tags by name. On the bus, in records and in events they have this shape; stores keep `<name>:<value>`. */
export const tags = boundedMap(tagValue, { max: TAGS_MAX, key: tagName }).describe(
  `At most ${TAGS_MAX} tags: names of up to 64 characters, values of up to 128`,
);
export type Tags = z.infer<typeof tags>;

/** Of a call: the fields that its event and its line in Logs take over. */
export const callerContext = z.object({
  tags: tags.optional(),
  client_request_id: z.string().max(CLIENT_REQUEST_ID_LENGTH_MAX).optional(),
  /** As in W3C Trace Context: version, trace id, span id and flags. */
  traceparent: z.string().optional(),
});
export type CallerContext = z.infer<typeof callerContext>;

/** Filter of Logs. */
export const tagFilter = z
  .string()
  .regex(new RegExp(`^${TAG_NAME}:[^,]{1,128}$`), 'must be <name>:<value>, like team:search')
  .describe('Only with this tag, as <name>:<value>');

/** Grouping of Usage. */
export const tagGroup = z
  .templateLiteral(['tag:', z.string().regex(new RegExp(TAG_NAME))])
  .describe('By the values of one tag');
export type TagGroup = z.infer<typeof tagGroup>;

/** The tags as `<name>:<value>`, sorted. */
export function tagPairs(all: Tags): string[] {
  return Object.entries(all)
    .map(([name, value]) => `${name}:${value}`)
    .sort();
}

/** The tags of `tagPairs`. A name has no colon; a value may have some. */
export function tagsOfPairs(pairs: readonly string[]): Tags {
  const entries = pairs.map((pair) => {
    const colon = pair.indexOf(':');
    return [pair.slice(0, colon), pair.slice(colon + 1)] as const;
  });
  return Object.fromEntries(entries);
}
