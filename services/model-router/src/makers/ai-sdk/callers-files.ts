// Files that a caller names by a URL which the maker does not fetch itself: fetched here, from the public internet only
// (libs/egress), and sent along as bytes.
import { ServiceError } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import { UnsupportedField } from './translation.ts';

/** Bytes of all files of one request together: as many as its body may have. */
const FILES_BYTES_MAX = 32 * 1024 * 1024;

export interface CallersFile {
  bytes: Uint8Array;
  /** As its server says it. */
  mediaType: string;
}

export interface CallersFiles {
  /**
   * @param at the caller's member that holds the URL: errors name it.
   * @param kind what it must be: `image/*`, `application/pdf`.
   * @throws UnsupportedField where it cannot be had, or is something else.
   */
  fetch(url: string, kind: string, at: string): Promise<CallersFile>;
}

/** The files of one request, under one limit; `signal` ends what is on its way. */
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
            response.status === 200 ? mediaType || 'nothing that says what it is' : response.status;
          throw new UnsupportedField(at, `${at}: the URL should give ${kind}, and gave ${found}`);
        }
        const bytes = await response.bytes();
        bytesLeft -= bytes.length;
        return { bytes, mediaType };
      } catch (error) {
        if (error instanceof ServiceError) throw new UnsupportedField(at, error.message, { cause: error });
        throw error;
      }
    },
  };
}

function isOfKind(mediaType: string, kind: string): boolean {
  return kind.endsWith('/*') ? mediaType.startsWith(kind.slice(0, -1)) : mediaType === kind;
}
