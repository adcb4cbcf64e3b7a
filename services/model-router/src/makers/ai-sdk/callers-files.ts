// Downloads files that a caller names by URL when the maker does not fetch them: from the public internet only
// (libs/egress). They are sent to the maker as bytes.
import { ServiceError } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import { UnsupportedField } from './translation.ts';

/** Maximum size of all files of one request; the same as for its body. */
const FILES_BYTES_MAX = 32 * 1024 * 1024;

interface CallersFile {
  bytes: Uint8Array;
  /** The media type that the server sent. */
  mediaType: string;
}

export interface CallersFiles {
  /**
   * @param at the caller's member that holds the URL; errors name it.
   * @param kind the required type: `image/*`, `application/pdf`.
   * @throws UnsupportedField when the download fails or has another type.
   */
  fetch(url: string, kind: string, at: string): Promise<CallersFile>;
}

/** The files of one request, with a shared limit; `signal` aborts downloads. */
export function callersFiles(egress: Egress, signal: AbortSignal): CallersFiles {
  let bytesLeft = FILES_BYTES_MAX;
  return {
    async fetch(url, kind, at) {
      try {
        const response = await egress.fetch(url, { param: at, bytesMax: bytesLeft, signal });
        const mediaType = (response.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
        if (response.status !== 200 || !isOfKind(mediaType, kind)) {
          response.close();
          const found =
            response.status === 200 ? mediaType || 'no content type' : `status ${response.status}`;
          throw new UnsupportedField(at, `The URL returned ${found} instead of ${kind}. Check the URL.`);
        }
        const bytes = await response.bytes();
        bytesLeft -= bytes.length;
        return { bytes, mediaType };
      } catch (error) {
        if (error instanceof ServiceError)
          throw new UnsupportedField(at, error.message.replace(`${at}: `, ''), { cause: error });
        throw error;
      }
    },
  };
}

function isOfKind(mediaType: string, kind: string): boolean {
  return kind.endsWith('/*') ? mediaType.startsWith(kind.slice(0, -1)) : mediaType === kind;
}
