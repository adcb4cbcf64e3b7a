// Reads what a caller says about a request: tags, its own request id and its trace.
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import {
  type CallerContext,
  CLIENT_REQUEST_ID_HEADER,
  CLIENT_REQUEST_ID_LENGTH_MAX,
  invalidParam,
  type KeyRecord,
  TAGS_HEADER,
  type Tags,
  TRACEPARENT_HEADER,
  tags,
} from '@switchyard/contracts';

const PRINTABLE = new RegExp(`^[\\x20-\\x7e]{1,${CLIENT_REQUEST_ID_LENGTH_MAX}}$`);
/** Version 00 of W3C Trace Context. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * @returns the fields that are set. An invalid `traceparent` is ignored, as W3C Trace Context asks.
 * @throws ServiceError `invalid_request` naming the header
 */
export function callerContextOf(headers: IncomingHttpHeaders, { metadata }: KeyRecord): CallerContext {
  const own = headers[TAGS_HEADER.toLowerCase()];
  const all = typeof own === 'string' ? joinTags(readTags(textOf(own)), metadata, TAGS_HEADER) : metadata;
  const clientId = headers[CLIENT_REQUEST_ID_HEADER.toLowerCase()];
  const trace = headers[TRACEPARENT_HEADER];
  return {
    ...(all && Object.keys(all).length > 0 ? { tags: all } : {}),
    ...(typeof clientId === 'string' ? { client_request_id: readClientId(clientId) } : {}),
    ...(typeof trace === 'string' && TRACEPARENT.test(trace) ? { traceparent: trace } : {}),
  };
}

/**
 * @param first tags that lose if both have a name
 * @param param names the origin of `first` in an error
 * @throws ServiceError `invalid_request`
 */
export function joinTags(first: Tags, winning: Tags | null | undefined, param: string): Tags {
  const joined = tags.safeParse({ ...first, ...winning });
  if (joined.success) return joined.data;
  const [issue] = joined.error.issues;
  const where = issue && issue.path.length > 0 ? `"${issue.path.join('.')}" ` : '';
  throw invalidParam(param, `${where}${issue?.message}`);
}

/** Node reads headers as Latin-1, and most clients send UTF-8. */
function textOf(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : header;
}

function readTags(header: string): Tags {
  const entries = header.split(',').map((pair) => {
    const equals = pair.indexOf('=');
    if (equals >= 0) return [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()] as const;
    const shown = JSON.stringify(pair.slice(0, 100));
    throw invalidParam(TAGS_HEADER, `${shown} is not <name>=<value>. Separate tags by commas.`);
  });
  return Object.fromEntries(entries);
}

function readClientId(header: string): string {
  if (PRINTABLE.test(header)) return header;
  const what = `must be 1 to ${CLIENT_REQUEST_ID_LENGTH_MAX} printable ASCII characters`;
  throw invalidParam(CLIENT_REQUEST_ID_HEADER, what);
}
