// The multipart form of a transcription for OpenAI-compatible upstreams. The audio is sent without a copy.
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { TranscriptionParams } from '@switchyard/contracts';

interface TranscriptionForm {
  contentType: string;
  contentLength: number;
  body: Readable;
}

/** Bytes of audio per write to the socket. */
const PIECE_BYTES = 256 * 1024;
const BOUNDARY_BYTES = 18;

/** @param model the upstream's own name */
export function transcriptionForm(
  model: string,
  audio: Buffer,
  { media_type: mediaType, filename, ...fields }: TranscriptionParams,
): TranscriptionForm {
  const boundary = `switchyard-${randomBytes(BOUNDARY_BYTES).toString('hex')}`;
  const head = Buffer.from(
    [
      ...Object.entries({ model, ...fields }).flatMap(([name, value]) => partsOf(name, value)),
      {
        head: `name="file"; filename="${quoted(filename)}"\r\nContent-Type: ${oneLine(mediaType)}`,
        value: '',
      },
    ]
      .map((part) => `--${boundary}\r\nContent-Disposition: form-data; ${part.head}\r\n\r\n${part.value}`)
      .join('\r\n'),
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    contentLength: head.length + audio.length + tail.length,
    body: Readable.from(pieces(head, audio, tail), { objectMode: false, highWaterMark: PIECE_BYTES }),
  };
}

async function* pieces(head: Buffer, audio: Buffer, tail: Buffer): AsyncGenerator<Uint8Array> {
  yield head;
  for (let at = 0; at < audio.length; at += PIECE_BYTES) yield audio.subarray(at, at + PIECE_BYTES);
  yield tail;
}

interface Part {
  head: string;
  value: string;
}

/** Lists in the form of OpenAI's clients, objects as JSON; null values are left out. */
function partsOf(name: string, value: unknown): Part[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((one) => partsOf(`${name}[]`, one));
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return [{ head: `name="${quoted(name)}"`, value: text }];
}

/** Escapes what would end the quotes or the line, as browsers do. */
function quoted(text: string): string {
  return text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ');
}
