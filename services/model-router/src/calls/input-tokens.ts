// How many tokens a request has, where its maker has not counted them: of a call whose caller went away before the count
// came, and of makers that give none.
import { estimateTokens } from './pricing.ts';

/** Tokens that makers count for an image in a request, about; of sound and documents likewise, whatever their length. */
export const FILE_TOKENS = 1_000;
/** Bytes of base64 in a row that are a file: text has a blank, a quote or another script before that. */
const FILE_BYTES_MIN = 4_096;

/** The characters of base64 in both its alphabets; the backslash is of a `/` that a client has escaped. */
const OF_BASE64 = new Uint8Array(256);
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\\'))
  OF_BASE64[byte] = 1;

/** Files in it count as files, not by the length of their base64. */
export function estimateInputTokens(request: Uint8Array): number {
  let textBytes = request.length;
  let files = 0;
  let start = 0;
  for (let at = 0; at <= request.length; at += 1) {
    if (at < request.length && OF_BASE64[request[at] as number] === 1) continue;
    if (at - start >= FILE_BYTES_MIN) {
      files += 1;
      textBytes -= at - start;
    }
    start = at + 1;
  }
  return estimateTokens(textBytes) + files * FILE_TOKENS;
}
