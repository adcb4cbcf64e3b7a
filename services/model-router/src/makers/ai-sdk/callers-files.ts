// Downloads files that a caller names by URL when the maker does not fetch them: from the public internet only
// (libs/egress). They are sent to the maker as bytes.
import { ServiceError } from '@switchyard/contracts';
import type { Egress, EgressResponse } from '@switchyard/egress';
import { LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import type { CallOptions } from '../maker.ts';
import { UnsupportedField } from './translation.ts';

/** Maximum size of all files of one request; the same as for its body. */
const FILES_BYTES_MAX = 32 * 1024 * 1024;
/** Copies of a file in memory: its bytes, their base64, the body that holds it, and the body's bytes. */
const COPIES = 4;

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

/** The files of one request, with a shared limit; the signal aborts downloads. */
export function callersFiles(
  egress: Egress,
  { signal, reserve }: Pick<CallOptions, 'signal' | 'reserve'>,
): CallersFiles {
  let bytesLeft = FILES_BYTES_MAX;
  const roomFor = async ({ bytesMax, close }: EgressResponse) => {
    if (bytesMax <= LARGE_BODY_BYTES_MIN) return null;
    try {
      return await reserve(COPIES * bytesMax);
    } catch (error) {
      close();
      throw error;
    }
  };
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
        const held = await roomFor(response);
        const bytes = await response.bytes();
        held?.keep(COPIES * bytes.length);
        bytesLeft -= bytes.length;
        return { bytes, mediaType };
      } catch (error) {
        if (error instanceof ServiceError && error.param === at)
          throw new UnsupportedField(at, error.message.replace(`${at}: `, ''), { cause: error });
        throw error;
      }
    },
  };
}

function isOfKind(mediaType: string, kind: string): boolean {
  return kind.endsWith('/*') ? mediaType.startsWith(kind.slice(0, -1)) : mediaType === kind;
}
