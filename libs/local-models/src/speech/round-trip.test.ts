// Needs the programs of ../programs.ts; where they are missing every test here is skipped, and says so.
import { spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createLocalModels } from '../local-models.ts';
import { DEBIAN_PACKAGES, ENGLISH_SPEECH_MODEL, PROGRAMS } from '../programs.ts';
import { VOICES } from './voices.ts';

const missing = [
  ...Object.keys(PROGRAMS).filter((program) => spawnSync('which', [program]).status !== 0),
  ...(existsSync(ENGLISH_SPEECH_MODEL.path) ? [] : [ENGLISH_SPEECH_MODEL.path]),
];
if (missing.length > 0)
  console.warn(`skipped: ${missing.join(', ')} missing; apt-get install ${DEBIAN_PACKAGES.join(' ')}`);

const models = createLocalModels({ now: () => 0 });

interface Spoken {
  status: number;
  contentType: string;
  audio: Buffer;
  chunks: number;
}

async function speak(body: Record<string, unknown>, signal = new AbortController().signal): Promise<Spoken> {
  const answer = await models.answer({
    type: 'speech',
    model: 'speech',
    body: Buffer.from(JSON.stringify({ model: 'local/speech', ...body })),
    stream: false,
    signal,
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  const { status, contentType } = answer;
  return { status, contentType, audio: Buffer.concat(chunks), chunks: chunks.length };
}

async function transcribe(audio: Uint8Array, params: Record<string, unknown> = {}) {
  const signal = new AbortController().signal;
  const call = { type: 'transcription', model: 'transcribe', body: audio, params, stream: false } as const;
  const answer = await models.answer({ ...call, signal });
  const parts: Uint8Array[] = [];
  for await (const part of answer.body) parts.push(part);
  return { status: answer.status, ...JSON.parse(Buffer.concat(parts).toString()) };
}

function seconds(pcm: Buffer): number {
  return pcm.length / 2 / 24_000;
}

describe.skipIf(missing.length > 0)('local/speech', () => {
  it.each([
    ['mp3', 'audio/mpeg', /^(?:ID3|\xff[\xf2-\xff])/],
    ['wav', 'audio/wav', /^RIFF....WAVE/s],
    ['opus', 'audio/ogg; codecs=opus', /^OggS.*OpusHead/s],
    ['pcm', 'audio/pcm', /^/],
  ])('speaks %s of a second or two, the same each time', async (format, contentType, head) => {
    const body = { input: 'Hello, is anybody there?', response_format: format };
    const spoken = await speak(body);
    expect(spoken).toMatchObject({ status: 200, contentType });
    expect(spoken.audio.toString('latin1')).toMatch(head);
    const pcm = format === 'pcm' ? spoken.audio : decode(spoken.audio);
    expect(seconds(pcm)).toBeGreaterThan(1);
    expect(seconds(pcm)).toBeLessThan(4);
    expect((await speak(body)).audio.equals(spoken.audio)).toBe(true);
  });

  it('speaks mp3 when no format is asked for', async () => {
    expect((await speak({ input: 'Hello' })).contentType).toBe('audio/mpeg');
  });

  it('sends audio while it is still speaking', async () => {
    const { chunks } = await speak({ input: 'A long story. '.repeat(100), response_format: 'pcm' });
    expect(chunks).toBeGreaterThan(10);
  });

  it.each([0.25, 0.5, 2, 4])('keeps to speed %d', async (speed) => {
    const body = { input: 'The quick brown fox jumps over the lazy dog.', response_format: 'pcm' };
    const normal = seconds((await speak(body)).audio);
    const changed = seconds((await speak({ ...body, speed })).audio);
    expect((normal / changed / speed).toFixed(2)).toSatisfy((ratio: string) => +ratio > 0.6 && +ratio < 1.6);
  });

  it('has voices that differ under OpenAI’s names', async () => {
    const sounds = await Promise.all(
      ['klara', 'echo', 'fable', 'alloy'].map((voice) =>
        speak({ input: 'Hello', voice, response_format: 'pcm' }),
      ),
    );
    const [klara, echo, fable, alloy] = sounds.map(({ audio }) => audio.toString('latin1'));
    expect(new Set([klara, echo, fable]).size).toBe(3);
    expect(alloy === klara).toBe(true);
    for (const voice of VOICES.keys()) {
      const { status, audio } = await speak({ input: 'Hi', voice, response_format: 'pcm' });
      expect({ voice, status, heard: audio.length > 5_000 }).toEqual({ voice, status: 200, heard: true });
    }
  });

  it('refuses an unknown voice, naming the known ones, and text without a sound', async () => {
    const { status, audio } = await speak({ input: 'Hello', voice: 'caruso' });
    expect(status).toBe(400);
    expect(JSON.parse(audio.toString()).error).toMatchObject({
      param: 'voice',
      message: expect.stringMatching(/klara/),
    });
    expect(await speak({ input: '\n', response_format: 'pcm' })).toMatchObject({ status: 400 });
  });

  it('ends its programs when the caller goes away', async () => {
    const gone = new AbortController();
    const speaking = speak(
      { input: 'A very long story. '.repeat(1_500), response_format: 'pcm' },
      gone.signal,
    );
    gone.abort(new Error('gone'));
    await expect(speaking).rejects.toThrow('gone');
  });

  it('runs eight at a time, and ends its programs when the caller stops reading', async () => {
    const gone = new AbortController();
    const body = Buffer.from(
      JSON.stringify({ model: 'local/speech', input: 'A long story. '.repeat(250), response_format: 'pcm' }),
    );
    const call = { type: 'speech', model: 'speech', body, stream: true, signal: gone.signal } as const;
    const programs = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
    const most = programs() + 16;
    const answered = new EventEmitter();
    const iterators: AsyncIterator<Uint8Array>[] = [];
    const calls = Array.from({ length: 20 }, async () => {
      iterators.push((await models.answer(call)).body[Symbol.asyncIterator]());
      answered.emit(String(iterators.length));
    });
    await once(answered, '8');
    expect(programs()).toBeLessThanOrEqual(most);
    const ninth = once(answered, '9');
    await iterators[0]?.return?.();
    await ninth;
    expect(programs()).toBeLessThanOrEqual(most);
    gone.abort(new Error('gone'));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
  });

  it('names the package when its program is missing', async () => {
    const path = process.env.PATH;
    process.env.PATH = '/nonexistent';
    try {
      const { status, audio } = await speak({ input: 'Hello' });
      expect(status).toBe(503);
      expect(JSON.parse(audio.toString()).error).toMatchObject({
        code: 'program_missing',
        message: expect.stringMatching(/Debian package (espeak-ng|ffmpeg)/),
      });
    } finally {
      process.env.PATH = path;
    }
  });
});

describe.skipIf(missing.length > 0)('local/transcribe', () => {
  it.each([
    'one two three four five six seven eight nine zero',
    'four two nine',
    'seven',
    'three one four one five nine two six five',
    'eight zero zero five',
    'nine nine one',
    'the weather is nice today',
    'two people went to the market for bread',
  ])('understands local/speech: %s', async (input) => {
    const { audio } = await speak({ input });
    expect((await transcribe(audio)).text).toBe(input);
  });

  it.each(['wav', 'flac', 'ogg', 'mp3', 'm4a'])('reads %s and measures it from the file', async (format) => {
    const pcm = (await speak({ input: 'one two three', response_format: 'pcm' })).audio;
    const { status, text, language, duration } = await transcribe(encode(pcm, format), { language: 'en' });
    expect({ status, text, language }).toEqual({ status: 200, text: 'one two three', language: 'en' });
    // Lossy formats pad their last frame.
    expect(Math.abs(duration - seconds(pcm))).toBeLessThan(
      format === 'wav' || format === 'flac' ? 0.002 : 0.1,
    );
  });

  it('tells utterances apart, with their times', async () => {
    const first = (await speak({ input: 'one two three', response_format: 'pcm' })).audio;
    const second = (await speak({ input: 'six seven', response_format: 'pcm' })).audio;
    const pause = Buffer.alloc(2 * 24_000 * 3);
    const { segments, words, text, duration } = await transcribe(
      encode(Buffer.concat([first, pause, second]), 'wav'),
    );
    expect(text).toBe('one two three six seven');
    expect(segments.map((segment: { text: string }) => segment.text)).toEqual(['one two three', 'six seven']);
    expect(segments[0].end).toBeLessThanOrEqual(seconds(first));
    expect(segments[1].start).toBeGreaterThan(seconds(first) + 2.9);
    expect(segments[1].end).toBeLessThanOrEqual(duration);
    expect(words.map(({ word }: { word: string }) => word).join(' ')).toBe(text);
  });

  it('hears nothing in silence, and still measures it', async () => {
    const silence = await transcribe(encode(Buffer.alloc(2 * 24_000 * 2), 'wav'));
    expect(silence).toMatchObject({ status: 200, text: '', duration: 2, segments: [] });
  });

  it('refuses non-audio files and other languages', async () => {
    expect(await transcribe(Buffer.from('this is no audio'))).toMatchObject({
      status: 400,
      error: { code: 'audio_unreadable', param: 'file' },
    });
    expect(await transcribe(Buffer.alloc(0))).toMatchObject({ status: 400, error: { param: 'file' } });
    // A playlist would have the decoder open other files.
    const playlist = Buffer.from(
      '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n',
    );
    expect(await transcribe(playlist)).toMatchObject({ status: 400, error: { code: 'audio_unreadable' } });
    expect(await transcribe(Buffer.from('x'), { language: 'de' })).toMatchObject({
      status: 400,
      error: { param: 'language' },
    });
  });
});

function decode(audio: Buffer): Buffer {
  const args = '-v error -i pipe:0 -ac 1 -ar 24000 -f s16le pipe:1'.split(' ');
  return spawnSync('ffmpeg', args, { input: audio, maxBuffer: 1e8 }).stdout;
}

function encode(pcm: Buffer, format: string): Buffer {
  const container = format === 'm4a' ? 'mp4 -movflags frag_keyframe+empty_moov' : format;
  const args = `-v error -f s16le -ar 24000 -ac 1 -i pipe:0 -f ${container} pipe:1`.split(' ');
  return spawnSync('ffmpeg', args, { input: pcm, maxBuffer: 1e8 }).stdout;
}
