// Decodes any audio file into its exact length and its utterances, one file each; never holds the whole audio in
// memory.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BYTES_PER_SAMPLE, decodeSound } from '../decode-sound.ts';
import { LocalRefusal } from '../local-refusal.ts';
import { ProgramFailed } from '../run-program.ts';
import { SAMPLE_RATE_HZ, UtteranceCutter } from './utterances.ts';

/** Maximum speech per call; recognition takes about half of its duration. */
export const SPEECH_SECONDS_MAX = 900;
/** Maximum length of the file, including silence. */
export const AUDIO_SECONDS_MAX = 4 * 3_600;

export interface StoredUtterance {
  /** File name in the call's folder, without extension. */
  name: string;
  /** Seconds from the file's beginning to the first sample stored. */
  start: number;
  /** Seconds stored. */
  length: number;
}

interface DecodedAudio {
  /** At SAMPLE_RATE_HZ. */
  samples: number;
  utterances: StoredUtterance[];
}

/** @throws LocalRefusal for a file that is not audio or is too long. */
export async function decodeAudio(file: string, folder: string, signal: AbortSignal): Promise<DecodedAudio> {
  const decoder = decodeSound(file, SAMPLE_RATE_HZ, signal);
  const cutter = new UtteranceCutter();
  const utterances: StoredUtterance[] = [];
  let speechSeconds = 0;
  const store = async (cut: Iterable<{ start: number; samples: Int16Array }>) => {
    for (const { start, samples } of cut) {
      const length = samples.length / SAMPLE_RATE_HZ;
      speechSeconds += length;
      if (speechSeconds > SPEECH_SECONDS_MAX) throw tooLong(`${SPEECH_SECONDS_MAX / 60} minutes of speech`);
      const name = `u${utterances.length}`;
      await writeFile(join(folder, `${name}.raw`), new Uint8Array(samples.buffer), { signal });
      utterances.push({ name, start: start / SAMPLE_RATE_HZ, length });
    }
  };
  let odd: Buffer = Buffer.alloc(0);
  for await (const chunk of decoder.output) {
    const bytes: Buffer = odd.length > 0 ? Buffer.concat([odd, chunk as Buffer]) : (chunk as Buffer);
    const even = bytes.length - (bytes.length % BYTES_PER_SAMPLE);
    odd = bytes.subarray(even);
    await store(cutter.push(toSamples(bytes.subarray(0, even))));
    if (cutter.samples > AUDIO_SECONDS_MAX * SAMPLE_RATE_HZ)
      throw tooLong(`${AUDIO_SECONDS_MAX / 3_600} hours`);
  }
  await ended(decoder.done, cutter.samples);
  await store(cutter.end());
  return { samples: cutter.samples, utterances };
}

/** A file that is damaged at its end still counts up to there. */
async function ended(done: Promise<void>, samples: number): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error;
    if (samples === 0) throw unreadable(error);
  }
  if (samples === 0) throw unreadable(undefined);
}

function unreadable(cause: unknown): LocalRefusal {
  const message = 'the file cannot be decoded as audio; use mp3, wav, flac, ogg, m4a or webm';
  return new LocalRefusal(400, 'audio_unreadable', message, 'file', { cause });
}

function tooLong(most: string): LocalRefusal {
  return new LocalRefusal(400, 'audio_too_long', `local/transcribe takes at most ${most} in a file`, 'file');
}

function toSamples(bytes: Buffer): Int16Array {
  const samples = new Int16Array(bytes.length / BYTES_PER_SAMPLE);
  new Uint8Array(samples.buffer).set(bytes);
  return samples;
}
