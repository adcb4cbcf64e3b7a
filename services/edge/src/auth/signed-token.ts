// Tokens that carry their content, signed by HMAC-SHA-256. The purpose is signed too, so that a token of one purpose is
// none of another.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { z } from 'zod';

/** Returns the token, which is one path segment. */
export function signToken(secret: string, purpose: string, content: object): string {
  const payload = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${payload}.${mac(secret, purpose, payload)}`;
}

/** The content of the token; null if it was not signed here for this purpose. */
export function readToken<T>(
  secret: string,
  purpose: string,
  token: string,
  content: z.ZodType<T>,
): T | null {
  const [payload = '', signature = ''] = token.split('.');
  if (!same(signature, mac(secret, purpose, payload))) return null;
  return content.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
}

/** The signature of a text, in base64url. */
export function mac(secret: string, purpose: string, text: string): string {
  return createHmac('sha256', secret).update(`${purpose}\n${text}`).digest('base64url');
}

/** Compares secrets in constant time. */
export function same(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
