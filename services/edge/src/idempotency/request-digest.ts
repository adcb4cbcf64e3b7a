// The digest of a request's body, whoever reads the body and however: taken from the bytes as the HTTP parser brings them,
// so that it neither holds the reader up nor needs to be asked for by a route.
import { createHash } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { multipartDigest } from './multipart-digest.ts';

const MULTIPART = /^multipart\/form-data\b/i;

export interface RequestDigest {
  /** Hex, once the last byte has come; never where the body is cut. */
  readonly done: Promise<string>;
  /** Whether the last byte has come. */
  readonly complete: boolean;
  /** Whether there was a byte before it. */
  readonly hasBody: boolean;
}

/** Must be called in the turn in which the request came, before any of its body has. */
export function digestOf(raw: IncomingMessage): RequestDigest {
  const bytes = createHash('sha256');
  const contentType = raw.headers['content-type'] ?? '';
  const parts = MULTIPART.test(contentType) ? multipartDigest(contentType) : null;
  const done = Promise.withResolvers<string>();
  const digest = { done: done.promise, complete: false, hasBody: false };
  raw.push = (piece: Buffer | null, ...rest: []) => {
    if (piece === null) {
      digest.complete = true;
      const whole = bytes.digest('hex');
      if (parts) parts.end().then((byParts) => done.resolve(byParts ?? whole), done.reject);
      else done.resolve(whole);
    } else {
      digest.hasBody = true;
      bytes.update(piece);
      parts?.write(piece);
    }
    return IncomingMessage.prototype.push.call(raw, piece, ...rest);
  };
  return digest;
}
