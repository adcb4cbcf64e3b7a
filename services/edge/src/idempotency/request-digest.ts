// The digest of a request's body, independent of who reads the body. It is taken from the bytes as the HTTP parser
// delivers them, so it neither delays the reader nor needs support by the route.
import { createHash } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { multipartDigest } from './multipart-digest.ts';

const MULTIPART = /^multipart\/form-data\b/i;

export interface RequestDigest {
  /** Hex, once the last byte has arrived; stays pending for an incomplete body. */
  readonly done: Promise<string>;
  /** Whether the last byte has arrived. */
  readonly complete: boolean;
  /** Whether the body has any bytes. */
  readonly hasBody: boolean;
}

/** Must be called in the turn in which the request arrived, before any of its body. */
export function digestOf(raw: IncomingMessage): RequestDigest {
  const bytes = createHash('sha256');
  const contentType = raw.headers['content-type'] ?? '';
  const parts = MULTIPART.test(contentType) ? multipartDigest(contentType) : null;
  const done = Promise.withResolvers<string>();
  done.promise.catch(() => {}); // a refused request does not wait for it
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
