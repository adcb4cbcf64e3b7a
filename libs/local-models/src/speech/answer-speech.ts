// local/speech: OpenAI's speech request -> audio by espeak-ng, encoded by ffmpeg, sent as it is made.
import { pipeline } from 'node:stream/promises';
import { speechRequest } from '@switchyard/contracts';
import type { Places } from '@switchyard/service';
import type { z } from 'zod';
import type { LocalAnswer } from '../local-answer.ts';
import { LocalRefusal } from '../local-refusal.ts';
import { type LocalRequest, parseRequest } from '../local-request.ts';
import { type RunningProgram, runProgram } from '../run-program.ts';
import { VOICE_DEFAULT, VOICES } from './voices.ts';

export const SPEECH_SAMPLE_RATE_HZ = 24_000;
/** A little slower than espeak-ng's own 175, and easier to follow. */
const WORDS_PER_MINUTE = 140;

/** ffmpeg's options for each format. A WAV header has no length: it is sent before the end is known. */
const FORMATS = {
  mp3: { contentType: 'audio/mpeg', output: ['-c:a', 'libmp3lame', '-b:a', '64k', '-f', 'mp3'] },
  wav: { contentType: 'audio/wav', output: ['-c:a', 'pcm_s16le', '-f', 'wav'] },
  opus: {
    contentType: 'audio/ogg; codecs=opus',
    output: ['-c:a', 'libopus', '-b:a', '32k', '-page_duration', '200000', '-f', 'ogg'],
  },
  pcm: { contentType: 'audio/pcm', output: ['-c:a', 'pcm_s16le', '-f', 's16le'] },
} as const;

/** The same words give the same bytes: no encoder's name, no date. */
const REPEATABLE = ['-map_metadata', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact'];

interface SpeechCall extends Pick<LocalRequest, 'body' | 'signal'> {
  begun: () => void;
  /** Held while the programs of a call run. */
  places: Places;
}

export async function answerSpeech({ body, signal, begun, places }: SpeechCall): Promise<LocalAnswer> {
  const request = parseRequest(speechRequest, body);
  if (!/\S/.test(request.input)) throw nothingToSpeak();
  const voice = readVoice(request.voice);
  const { contentType } = FORMATS[request.response_format ?? 'mp3'];
  const stopped = new AbortController();
  const started = Promise.withResolvers<Programs>();
  places
    .run(signal, async () => {
      begun();
      const programs = startPrograms(request, voice, AbortSignal.any([signal, stopped.signal]));
      started.resolve(programs);
      await Promise.all([programs.speaker.exited, programs.encoder.exited]);
    })
    .catch(started.reject);
  const audio = audioOf(await started.promise, stopped);
  // The first bytes decide whether the caller gets audio or an error.
  const first = await audio.next();
  if (first.done) throw nothingToSpeak();
  return { status: 200, contentType, body: startingWith(first, audio) };
}

interface Programs {
  speaker: RunningProgram;
  encoder: RunningProgram;
}

function startPrograms(
  request: z.output<typeof speechRequest>,
  voice: string,
  signal: AbortSignal,
): Programs {
  const { output } = FORMATS[request.response_format ?? 'mp3'];
  const speaker = runProgram(
    'espeak-ng',
    ['-v', voice, '-s', `${WORDS_PER_MINUTE}`, '-b', '1', '--stdin', '--stdout'],
    signal,
  );
  const speed = request.speed ?? 1;
  // Two filters of the root: one stops at 0.5.
  const tempo = `atempo=${Math.sqrt(speed).toFixed(4)}`;
  const encoder = runProgram(
    'ffmpeg',
    [
      ...['-nostdin', '-v', 'error', '-f', 'wav', '-ignore_length', '1', '-i', 'pipe:0'],
      ...(speed === 1 ? [] : ['-af', `${tempo},${tempo}`]),
      ...[
        '-ac',
        '1',
        '-ar',
        `${SPEECH_SAMPLE_RATE_HZ}`,
        ...REPEATABLE,
        ...output,
        '-flush_packets',
        '1',
        'pipe:1',
      ],
    ],
    signal,
  );
  speaker.input.end(spoken(request.input));
  const passed = pipeline(speaker.output, encoder.input);
  passed.catch(() => {}); // whichever program failed says why
  return { speaker, encoder };
}

function nothingToSpeak(): LocalRefusal {
  return new LocalRefusal(400, 'invalid_request', 'there is nothing to speak', 'input');
}

function readVoice(asked: string | { id: string } | null | undefined): string {
  const name = typeof asked === 'string' ? asked : (asked?.id ?? VOICE_DEFAULT);
  const voice = VOICES.get(name.toLowerCase());
  if (voice) return voice;
  const message = `there is no voice ${JSON.stringify(name)}; use ${[...VOICES.keys()].join(', ')}`;
  throw new LocalRefusal(400, 'invalid_request', message, 'voice');
}

/** espeak-ng would take `[[ ]]` for phonemes; here they are brackets of the text. */
function spoken(input: string): string {
  return input.replaceAll('\0', ' ').replaceAll('[[', '[ [');
}

/** The audio; both programs are killed when its reader stops early. */
async function* audioOf(
  { speaker, encoder }: Programs,
  stopped: AbortController,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of encoder.output) yield bytes as Uint8Array;
    // Bytes before the speaker's end may still be followed by its failure: the stream then ends with that error.
    await speaker.done;
    await encoder.done;
  } finally {
    stopped.abort();
  }
}

/** Unlike a generator's, its `return` reaches `rest` before anything was read. */
function startingWith(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncIterable<Uint8Array> {
  let unread: IteratorResult<Uint8Array> | null = first;
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const result = unread ?? (await rest.next());
      unread = null;
      return result;
    },
    return: () => rest.return(undefined),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
