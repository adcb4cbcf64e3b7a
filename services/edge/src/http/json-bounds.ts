// Bounds on the structure of a JSON body, besides its length: punctuation costs far more per byte to parse and check
// than text.
import { ServiceError } from '@switchyard/contracts';

/** Nesting of objects and lists. */
export const JSON_DEPTH_MAX = 128;
/** Objects, lists and members of objects in total. */
export const JSON_NODES_MAX = 200_000;
/** Elements of lists and members of objects in total; an embedding request has a number per token. */
export const JSON_VALUES_MAX = 1_000_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** @throws ServiceError `invalid_request` for a body that exceeds a bound; does not check whether it is JSON */
export function requireBoundedJson(bytes: Buffer, nodesMax = JSON_NODES_MAX): void {
  let depth = 0;
  let nodes = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1)
    switch (bytes[at]) {
      case QUOTE:
        at = closingQuote(bytes, at);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth += 1;
        nodes += 1;
        if (depth > JSON_DEPTH_MAX) throw refuse(`is nested more than ${JSON_DEPTH_MAX} levels deep`);
        if (nodes > nodesMax) throw tooManyNodes(nodesMax);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth -= 1;
        break;
      case COLON:
        nodes += 1;
        if (nodes > nodesMax) throw tooManyNodes(nodesMax);
        break;
      case COMMA:
        values += 1;
        if (values > JSON_VALUES_MAX) throw refuse(`has more than ${JSON_VALUES_MAX} values`);
    }
}

/** Position of the quote that closes the string opened at `opening`, or the end of an incomplete body. */
function closingQuote(bytes: Buffer, opening: number): number {
  let at = opening + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function tooManyNodes(max: number): ServiceError {
  return refuse(`has more than ${max} objects, lists and members`);
}

function refuse(what: string): ServiceError {
  return new ServiceError('invalid_request', `The body ${what}. Send less in one request.`);
}
