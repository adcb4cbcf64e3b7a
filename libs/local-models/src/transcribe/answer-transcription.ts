// local/transcribe: decodes audio with ffmpeg, splits it into utterances at pauses, and recognises each one with
// pocketsphinx. Returns English text as OpenAI's verbose JSON.
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { jsonAnswer, type LocalAnswer } from '../local-answer.ts';
import { LocalRefusal } from '../local-refusal.ts';
import { parseRequest } from '../local-request.ts';
import { ENGLISH_SPEECH_MODEL } from '../programs.ts';
import { decodeAudio } from './decode-audio.ts';
import { recogniseUtterances } from './recognise-utterances.ts';
import { SAMPLE_RATE_HZ } from './utterances.ts';

interface TranscriptionCall {
  /** The uploaded file: mp3, wav, flac, ogg and the like. */
  audio: Uint8Array;
  params: Record<string, unknown>;
  signal: AbortSignal;
}

const ENGLISH = /^en(?:[-_][a-z]+)?$|^english$/i;

const transcriptionParams = z.looseObject({
  language: z.string().regex(ENGLISH, 'local/transcribe knows English only').nullish(),
});

export async function answerTranscription({
  audio,
  params,
  signal,
}: TranscriptionCall): Promise<LocalAnswer> {
  parseRequest(transcriptionParams, params);
  if (audio.byteLength === 0) throw new LocalRefusal(400, 'audio_unreadable', 'the file is empty', 'file');
  await checkSpeechModel();
  const folder = await mkdtemp(join(tmpdir(), 'transcribe-'));
  try {
    // A file, not a pipe: some formats have their index at the end.
    const file = join(folder, 'audio');
    await writeFile(file, audio, { signal });
    const { samples, utterances } = await decodeAudio(file, folder, signal);
    const segments = await recogniseUtterances(utterances, folder, signal);
    return jsonAnswer({
      task: 'transcribe',
      language: 'en',
      duration: Number((samples / SAMPLE_RATE_HZ).toFixed(3)),
      text: segments.map(({ text }) => text).join(' '),
      segments: segments.map(({ start, end, text }, id) => ({ id, start, end, text })),
      words: segments.flatMap(({ words }) => words),
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function checkSpeechModel(): Promise<void> {
  const { path, debianPackage } = ENGLISH_SPEECH_MODEL;
  try {
    await stat(path);
  } catch (cause) {
    const message = `there is no speech model at ${path}; install the Debian package ${debianPackage}`;
    throw new LocalRefusal(503, 'program_missing', message, null, { cause });
  }
}
