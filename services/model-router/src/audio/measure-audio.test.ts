// Creates files of every format with ffmpeg, measures them, and measures them again with forged headers.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@switchyard/service';
import { parseBuffer } from 'music-metadata';
import { afterAll, describe, expect, test } from 'vitest';
import { AudioDecoder } from './audio-decoder.ts';
import { measureAudio } from './measure-audio.ts';
import { aacSeconds, measureMp4 } from './mp4.ts';
import { measureOgg } from './ogg.ts';
import { measureWebm } from './webm.ts';

const folder = mkdtempSync(join(tmpdir(), 'measure-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

const here = { org: 'org_a', signal: new AbortController().signal };
const decoder = new AudioDecoder(systemClock);
const SECONDS = 12.345;
let count = 0;

/** A tone of SECONDS, encoded by ffmpeg with these options into a file with this extension. */
function make(ending: string, options: string[] = [], seconds = SECONDS): Buffer {
  const file = join(folder, `${count++}.${ending}`);
  const tone = `aevalsrc='0.4*sin(440*t*6.283)+0.1*random(0)':s=44100:d=${seconds}`;
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', tone, ...options, file]);
  return readFileSync(file);
}

/** Silent audio tracks of one Matroska file. */
function makeTracks(...tracks: [seconds: number, codec: string][]): Buffer {
  const file = join(folder, `${count++}.mka`);
  const inputs = tracks.flatMap(([seconds]) => ['-f', 'lavfi', '-i', `anullsrc=d=${seconds}`]);
  const outputs = tracks.flatMap(([, codec], at) => ['-map', `${at}`, `-c:a:${at}`, codec]);
  execFileSync('ffmpeg', ['-v', 'error', ...inputs, ...outputs, file]);
  return readFileSync(file);
}

/** A Matroska element; its size takes 8 bytes. */
function element(id: string, ...content: Buffer[]): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(content.reduce((sum, { length }) => sum + length, 0)));
  size[0] = 1;
  return Buffer.concat([Buffer.from(id, 'hex'), size, ...content]);
}

const hex = (text: string) => Buffer.from(text, 'hex');

/** WebM with one Opus track and these clusters. */
function opusWebm(clusters: Buffer[], encodings: Buffer = hex('')): Buffer {
  const head = Buffer.from('OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0', 'latin1');
  const sound = element('e1', element('b5', hex('473b8000')), element('9f', hex('01')));
  const names = [element('86', Buffer.from('A_OPUS')), element('63a2', head)];
  const ids = [element('d7', hex('01')), element('73c5', hex('01')), element('83', hex('02'))];
  const tracks = element('1654ae6b', element('ae', ...ids, ...names, sound, encodings));
  return Buffer.concat([
    element('1a45dfa3', element('4282', Buffer.from('webm'))),
    element('18538067', tracks, ...clusters),
  ]);
}

const OPUS_20_MS = hex('fcfffe');

/** A second of packets of 20 ms. */
function cluster(second: number, packet: Buffer = OPUS_20_MS, ...more: Buffer[]): Buffer {
  const time = Buffer.alloc(4);
  time.writeUInt32BE(second * 1_000);
  const blocks = Array.from({ length: 50 }, (_, at) => {
    const head = hex('81000080');
    head.writeInt16BE(at * 20, 1);
    return element('a3', head, packet);
  });
  return element('1f43b675', element('e7', time), ...blocks, ...more);
}

const secondsOf = async (bytes: Buffer) => (await measureAudio({ decoder }, bytes, here)).seconds;

/** For encoders that state their padding; others include the padding of a block. */
const EXACT_TOLERANCE_S = 0.001;
const BLOCK_TOLERANCE_S = 0.08;

const KINDS: [name: string, ending: string, options: string[], within: number][] = [
  ['mp3, variable', 'mp3', ['-q:a', '4'], EXACT_TOLERANCE_S],
  ['mp3, constant', 'mp3', ['-b:a', '64k'], EXACT_TOLERANCE_S],
  ['mp3 at 16 kHz (MPEG-2)', 'mp3', ['-ar', '16000', '-ac', '1', '-b:a', '32k'], EXACT_TOLERANCE_S],
  ['mp3 at 8 kHz (MPEG-2.5)', 'mp3', ['-ar', '8000', '-ac', '1'], EXACT_TOLERANCE_S],
  ['mp3 without the encoder’s header', 'mp3', ['-write_xing', '0'], BLOCK_TOLERANCE_S],
  [
    'mp3 with a long tag',
    'mp3',
    ['-id3v2_version', '3', '-metadata', `title=${'x'.repeat(5000)}`],
    EXACT_TOLERANCE_S,
  ],
  ['mp2', 'mp2', ['-f', 'mp2'], BLOCK_TOLERANCE_S],
  ['wav', 'wav', [], EXACT_TOLERANCE_S],
  ['wav of floats in stereo', 'wav', ['-ac', '2', '-c:a', 'pcm_f32le'], EXACT_TOLERANCE_S],
  ['wav of 24 bits (extensible)', 'wav', ['-c:a', 'pcm_s24le', '-ac', '6'], EXACT_TOLERANCE_S],
  ['wav, µ-law', 'wav', ['-c:a', 'pcm_mulaw', '-ar', '8000'], EXACT_TOLERANCE_S],
  ['flac', 'flac', [], EXACT_TOLERANCE_S],
  ['flac at 16 kHz', 'flac', ['-ar', '16000'], EXACT_TOLERANCE_S],
  ['flac at an odd rate', 'flac', ['-ar', '11000'], EXACT_TOLERANCE_S],
  ['ogg with vorbis', 'ogg', ['-c:a', 'libvorbis'], EXACT_TOLERANCE_S],
  ['ogg with vorbis at 8 kHz', 'ogg', ['-c:a', 'libvorbis', '-ar', '8000'], EXACT_TOLERANCE_S],
  ['ogg with opus', 'opus', ['-c:a', 'libopus'], EXACT_TOLERANCE_S],
  [
    'ogg with opus in packets of 60 ms',
    'ogg',
    ['-c:a', 'libopus', '-frame_duration', '60'],
    EXACT_TOLERANCE_S,
  ],
  ['ogg with flac', 'oga', ['-c:a', 'flac'], EXACT_TOLERANCE_S],
  ['ogg with speex', 'ogg', ['-c:a', 'libspeex', '-ar', '16000'], BLOCK_TOLERANCE_S],
  ['m4a', 'm4a', [], 0.002],
  ['m4a with its header first', 'm4a', ['-movflags', '+faststart', '-ar', '16000'], 0.002],
  [
    'm4a in fragments',
    'mp4',
    ['-movflags', '+frag_keyframe+empty_moov', '-frag_duration', '1000000'],
    BLOCK_TOLERANCE_S,
  ],
  ['m4a with alac', 'm4a', ['-c:a', 'alac'], EXACT_TOLERANCE_S],
  ['m4a with opus (decoded)', 'mp4', ['-c:a', 'libopus'], BLOCK_TOLERANCE_S],
  ['mov', 'mov', ['-c:a', 'aac'], BLOCK_TOLERANCE_S],
  ['webm with opus', 'webm', ['-c:a', 'libopus'], EXACT_TOLERANCE_S],
  ['webm with vorbis', 'webm', ['-c:a', 'libvorbis'], BLOCK_TOLERANCE_S],
  ['webm as browsers record it', 'webm', ['-c:a', 'libopus', '-live', '1'], EXACT_TOLERANCE_S],
  ['matroska with aac', 'mka', ['-c:a', 'aac'], BLOCK_TOLERANCE_S],
  ['matroska with flac (decoded)', 'mka', ['-c:a', 'flac'], BLOCK_TOLERANCE_S],
  ['aac', 'aac', [], BLOCK_TOLERANCE_S],
  ['aiff (decoded)', 'aiff', [], BLOCK_TOLERANCE_S],
  ['caf (decoded)', 'caf', [], BLOCK_TOLERANCE_S],
  ['au (decoded)', 'au', [], BLOCK_TOLERANCE_S],
  ['wav with adpcm (decoded)', 'wav', ['-c:a', 'adpcm_ima_wav'], BLOCK_TOLERANCE_S],
];

describe('the measured length of', () => {
  test.each(KINDS)('%s equals the length of its input', async (_, ending, options, within) => {
    const seconds = await secondsOf(make(ending, options));
    expect(Math.abs(seconds - SECONDS)).toBeLessThanOrEqual(within);
  });

  test('a file with a leading video track is that of its audio', async () => {
    const file = join(folder, 'video.mp4');
    const video = ['-f', 'lavfi', '-i', 'testsrc=d=3:s=64x64:r=5', '-f', 'lavfi', '-i', 'sine=d=7'];
    execFileSync('ffmpeg', ['-v', 'error', ...video, '-c:a', 'aac', file]);
    expect(Math.abs((await secondsOf(readFileSync(file))) - 7)).toBeLessThan(0.01);
  });

  test.each([
    ['mp3', []],
    ['flac', []],
    ['ogg', ['-c:a', 'libvorbis']],
    ['wav', []],
    ['m4a', []],
  ] as [string, string[]][])('an honest %s is what its header says', async (ending, options) => {
    const bytes = make(ending, options);
    const { format } = await parseBuffer(bytes, undefined, { duration: true });
    expect(Math.abs((await secondsOf(bytes)) - (format.duration ?? 0))).toBeLessThan(BLOCK_TOLERANCE_S);
  });

  test('two consecutive ogg streams is the sum of both', async () => {
    const one = make('ogg', ['-c:a', 'libvorbis', '-serial_offset', '7'], 2);
    const other = make('opus', ['-c:a', 'libopus'], 3);
    expect(await secondsOf(Buffer.concat([one, other]))).toBeCloseTo(5, 2);
  });

  test.each([
    ['44100', '48000'],
    ['24000', '44100'],
  ])('joined mp3s of %s and %s Hz is the sum of both', async (one, other) => {
    const parts = [make('mp3', ['-ar', one], 2), make('mp3', ['-ar', other], 3)];
    expect(Math.abs((await secondsOf(Buffer.concat(parts))) - 5)).toBeLessThan(0.2);
  });

  test('a webm with several audio tracks is that of the longest', async () => {
    const bytes = makeTracks([2, 'libopus'], [7, 'libvorbis'], [3, 'libopus']);
    expect(Math.abs((await secondsOf(bytes)) - 7)).toBeLessThan(BLOCK_TOLERANCE_S);
  });

  test('a matroska with a track that is not counted here is decoded', () => {
    expect(measureWebm(makeTracks([2, 'libopus'], [3, 'libvorbis']))).toBeGreaterThan(2);
    expect(measureWebm(makeTracks([2, 'libopus'], [3, 'flac']))).toBeNull();
  });

  test.each([
    ['flac', 'libopus'],
    ['libopus', 'flac'],
  ])('a file whose tracks (%s, %s) are decoded is that of the longest', async (first, second) => {
    const bytes = makeTracks([1, first], [9, second]);
    expect(measureWebm(bytes)).toBeNull();
    expect(Math.abs((await secondsOf(bytes)) - 9)).toBeLessThan(BLOCK_TOLERANCE_S);
  });

  test('a file with a second track that cannot be decoded is that of its first', async () => {
    const bytes = makeTracks([3, 'flac'], [9, 'libopus']);
    const unknown = altered(bytes, (copy) => copy.write('A_WHAT', copy.indexOf('A_OPUS'), 'latin1'));
    expect(Math.abs((await secondsOf(unknown)) - 3)).toBeLessThan(BLOCK_TOLERANCE_S);
  });

  test('the shortest chargeable audio is above zero', async () => {
    expect(await secondsOf(make('wav', [], 0.02))).toBeCloseTo(0.02, 3);
  });
});

/** A copy with some bytes overwritten. */
function altered(bytes: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return copy;
}

describe('a forged header does not make', () => {
  test.each([0, 1, 1_000, 0xffffffff])(
    'a wav shorter by saying that it has %i bytes of sound',
    async (said) => {
      const bytes = make('wav');
      const at = bytes.indexOf('data') + 4;
      expect(await secondsOf(altered(bytes, (copy) => copy.writeUInt32LE(said, at)))).toBeCloseTo(SECONDS, 2);
    },
  );

  test('a wav shorter by claiming more bytes per second', async () => {
    const lying = altered(make('wav'), (copy) => copy.writeUInt32LE(0x7fffffff, 28));
    expect(await secondsOf(lying)).toBeCloseTo(SECONDS, 3);
  });

  test.each(['data', 'fmt '] as const)('a wav shorter by a second chunk %s', async (id) => {
    const bytes = make('wav');
    const [formatAt, dataAt] = [bytes.indexOf('fmt '), bytes.indexOf('data')];
    const [riff, format, data] = [
      bytes.subarray(0, 12),
      bytes.subarray(formatAt, dataAt),
      bytes.subarray(dataAt),
    ];
    const second = {
      data: altered(data.subarray(0, 8 + 3_200), (copy) => copy.writeUInt32LE(3_200, 4)),
      'fmt ': altered(format, (copy) => copy.writeUInt32LE(4_000_000, 12)),
    };
    const crafted = Buffer.concat([riff, format, second[id], data]);
    const decoded = await decoder.measure(crafted, here);
    expect(decoded).toBeGreaterThan(SECONDS - 1);
    expect(await secondsOf(crafted)).toBeCloseTo(decoded ?? 0, 2);
  });

  test('a wav longer by its other chunks', async () => {
    const bytes = make('wav', ['-metadata', 'title=of a test']);
    const tail = Buffer.concat([Buffer.from('LIST\x64\x00\x00\x00', 'latin1'), Buffer.alloc(100)]);
    expect(await secondsOf(Buffer.concat([bytes, tail]))).toBeCloseTo(SECONDS, 3);
  });

  test.each(['-q:a', '-b:a'])(
    'an mp3 (%s) shorter by the number of frames in its first one',
    async (option) => {
      const bytes = make('mp3', [option, option === '-q:a' ? '4' : '64k']);
      const at = Math.max(bytes.indexOf('Xing'), bytes.indexOf('Info'));
      expect(at).toBeGreaterThan(0);
      const lying = altered(bytes, (copy) => {
        copy.writeUInt32BE(10, at + 8);
        copy.writeUInt32BE(1_000, at + 12);
      });
      expect(await secondsOf(lying)).toBeCloseTo(SECONDS, 3);
    },
  );

  test('a flac shorter by its sample count', async () => {
    const bytes = make('flac');
    // The low 32 of 36 bits, after 13 bytes of STREAMINFO.
    expect(await secondsOf(altered(bytes, (copy) => copy.writeUInt32BE(44_100, 4 + 4 + 14)))).toBeCloseTo(
      SECONDS,
      3,
    );
  });

  test.each([
    ['vorbis', 'libvorbis'],
    ['opus', 'libopus'],
  ])('an ogg with %s shorter by the positions of its pages', async (_, codec) => {
    const lying = altered(make('ogg', ['-c:a', codec]), (copy) => {
      for (let at = copy.indexOf('OggS'); at !== -1; at = copy.indexOf('OggS', at + 1))
        if (copy.readBigInt64LE(at + 6) > 0n) copy.writeBigInt64LE(1_000n, at + 6);
    });
    expect(Math.abs((await secondsOf(lying)) - SECONDS)).toBeLessThan(0.03);
  });

  test('an m4a shorter by any of its durations', async () => {
    const lying = altered(make('m4a'), (copy) => {
      for (const [box, at] of [
        ['mvhd', 20],
        ['mdhd', 20],
        ['tkhd', 24],
        ['elst', 12],
        ['stts', 16],
      ] as const)
        copy.writeUInt32BE(1, copy.indexOf(box) + at);
    });
    expect(Math.abs((await secondsOf(lying)) - SECONDS)).toBeLessThan(BLOCK_TOLERANCE_S);
  });

  test('a webm shorter by its duration or its block times', async () => {
    const bytes = make('webm', ['-c:a', 'libopus']);
    const lying = altered(bytes, (copy) =>
      copy.writeDoubleBE(10, bytes.indexOf(Buffer.from('448988', 'hex')) + 3),
    );
    expect(await secondsOf(lying)).toBeCloseTo(SECONDS, 2);
  });
});

describe('a crafted webm is not measured shorter than decoders hear it, with', () => {
  const strips = element('5034', element('4254', hex('03')), element('4255', OPUS_20_MS.subarray(0, 1)));
  const voidBeyondParent = Buffer.concat([hex('ec'), element('', Buffer.alloc(100_000)).subarray(0, 8)]);
  test.each<[string, Buffer, seconds: number]>([
    ['nothing unusual', opusWebm([cluster(0), cluster(1), cluster(2)]), 3],
    ['a byte between two clusters', opusWebm([cluster(0), hex('00'), cluster(1), cluster(2)]), 3],
    [
      'an element that overruns its cluster',
      opusWebm([cluster(0, OPUS_20_MS, voidBeyondParent), cluster(1), cluster(2)]),
      3,
    ],
    [
      'packets that are stored without their first byte',
      opusWebm([cluster(0, hex('e00000'))], element('6d80', element('6240', strips))),
      1,
    ],
  ])('%s', async (_, bytes, seconds) => {
    const decoded = await decoder.measure(bytes, here);
    expect(decoded).toBeCloseTo(seconds, 1);
    expect(await secondsOf(bytes)).toBeCloseTo(decoded ?? 0, 2);
  });
});

test('a file with more tracks than are decoded is refused', async () => {
  const bytes = makeTracks(...Array<[number, string]>(9).fill([0.1, 'flac']));
  await expect(measureAudio({ decoder }, bytes, here)).rejects.toMatchObject({ code: 'audio_unreadable' });
});

describe('audio_unreadable is the error for', () => {
  test.each<[string, Buffer]>([
    ['text', Buffer.from('This is no sound at all. '.repeat(100))],
    ['a picture', Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(1_000)])],
    [
      'a wav without sound',
      Buffer.from(
        'RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0',
        'latin1',
      ),
    ],
    ['an mp3 of noise', Buffer.concat([Buffer.from('ff1b', 'hex'), Buffer.alloc(500, 0x55)])],
    ['a flac that ends in its header', Buffer.from('fLaC\0\0\0\x22', 'latin1')],
    ['an ogg of nothing', Buffer.concat([Buffer.from('OggS'), Buffer.alloc(100)])],
    ['an mp4 of nothing', Buffer.concat([Buffer.from('\0\0\0\x18ftypM4A ', 'latin1'), Buffer.alloc(100)])],
    ['a webm of nothing', Buffer.concat([Buffer.from('1a45dfa3', 'hex'), Buffer.alloc(100)])],
    ['nothing', Buffer.alloc(0)],
  ])('%s', async (_, bytes) => {
    await expect(measureAudio({ decoder }, bytes, here)).rejects.toMatchObject({
      code: 'audio_unreadable',
      param: 'file',
    });
  });
});

const OGG_FIRST = Buffer.from(oggPage('\x02', '\0'), 'latin1');
/** A list of tracks with one of Opus, number 1. */
const OPUS_TRACK = '1654ae6b90ae8ed781018381028686415f4f505553';

describe('a hostile file', () => {
  test.each<[string, Buffer]>([
    ['endless flac headers', hostileFlac()],
    ['bytes that all look like the beginning of a frame', Buffer.alloc(4_000_000, 0xff)],
    [
      'boxes in boxes',
      Buffer.concat([Buffer.from('\0\0\0\x08ftyp', 'latin1'), repeated('\0\0\0\x08moof', 500_000)]),
    ],
    ['pages of nothing', repeated(`OggS\0\x02${'\0'.repeat(21)}`, 150_000)],
    ['pages of empty packets', Buffer.concat([OGG_FIRST, repeated(oggPage('\0', '\0'.repeat(255)), 92_000)])],
    [
      'pages of a packet that does not end',
      Buffer.concat([OGG_FIRST, repeated(oggPage('\x01', '\xff', 255), 92_000)]),
    ],
    ['an integer of a megabyte', webm('75a210100000', Buffer.alloc(1024 * 1024, 0xff))],
    [
      'the name of a codec of a megabyte',
      webm('1654ae6b11000000ae10fffff08381028610100001', Buffer.alloc(1024 * 1024), Buffer.from('x')),
    ],
    [
      'blocks that claim 256 frames in no bytes',
      webm(OPUS_TRACK, repeated('\xa3\x85\x81\0\0\x04\xff', 1_500_000)),
    ],
    ['tracks, and fragments of another one', hostileMp4()],
    ['boxes nested 100,000 deep', nestedMp4()],
  ])('of %s takes less than 3 s of CPU time', async (_, bytes) => {
    const before = process.cpuUsage();
    await measureAudio({ decoder }, bytes, here).catch((error) =>
      expect(error.code).toBe('audio_unreadable'),
    );
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(3_000);
  });
});

test('a file with more parts than the parser’s limit is not measured by its beginning', () => {
  const block = Buffer.from('\xa3\x87\x81\0\0\x80\xfc\xff\xfe', 'latin1');
  const padding = repeated('\xec\x80', 2_000_000);
  expect(measureWebm(webm(OPUS_TRACK, block))).toBeGreaterThan(0);
  expect(() => measureWebm(webm(OPUS_TRACK, block, padding, block))).toThrow(RangeError);
  expect(() => measureOgg(repeated(oggPage('\x02', '\0'), 1_001))).toThrow(RangeError);
  const free = repeated('\0\0\0\x08free', 200_001);
  expect(() => measureMp4(free)).toThrow(RangeError);
});

test.each([
  [2, 1_024 / 44_100],
  [5, 1_024 / 44_100],
  [23, null],
  [39, null],
  [42, null],
])('AAC of object type %i has packets of %s s, or is not counted', (type, seconds) => {
  const bits = (value: number, count: number) => value.toString(2).padStart(count, '0');
  const typeBits = type < 31 ? bits(type, 5) : bits(31, 5) + bits(type - 32, 6);
  const config = `${typeBits}${bits(4, 4)}${bits(1, 4)}`.padEnd(32, '0');
  expect(aacSeconds(hex(Number.parseInt(config, 2).toString(16).padStart(8, '0')))).toBe(seconds);
});

/** A page, as latin1. */
function oggPage(flags: string, lacings: string, bytes = 0): string {
  const segments = String.fromCharCode(lacings.length);
  return `OggS\0${flags}${'\0'.repeat(20)}${segments}${lacings}${'\0'.repeat(bytes)}`;
}

function repeated(text: string, times: number): Buffer {
  return Buffer.from(text.repeat(times), 'latin1');
}

/** A WebM file: an empty EBML header, then these bytes. */
function webm(hex: string, ...rest: Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(`1a45dfa380${hex}`, 'hex'), ...rest]);
}

function box(type: string, content: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(content.length + 8);
  return Buffer.concat([size, Buffer.from(type, 'latin1'), content]);
}

/** Almost the maximum number of boxes: tracks without an id, and fragments of a track that does not exist. */
function hostileMp4(): Buffer {
  const head = Buffer.from('\0\0\0\x08ftyp', 'latin1');
  const fragments = repeated('\0\0\0\x10tfhd\0\0\0\0\0\0\0\x09', 100_000);
  return Buffer.concat([
    head,
    box('moov', repeated('\0\0\0\x08trak', 90_000)),
    box('moof', box('traf', fragments)),
  ]);
}

/** A track with 100,000 boxes, each nested in the previous one. */
function nestedMp4(): Buffer {
  const depth = 100_000;
  const nested = Buffer.alloc(8 * depth);
  for (let level = 0; level < depth; level += 1) {
    nested.writeUInt32BE(8 * (depth - level), 8 * level);
    nested.write('mdia', 8 * level + 4, 'latin1');
  }
  return Buffer.concat([Buffer.from('\0\0\0\x08ftyp', 'latin1'), box('moov', box('trak', nested))]);
}

/** Every header is valid, but none follows the previous one. */
function hostileFlac(): Buffer {
  const bytes = make('flac', [], 0.5);
  const at = bytes.indexOf(Buffer.from('fff8', 'hex'), 42);
  return Buffer.concat([
    bytes.subarray(0, at),
    ...Array.from({ length: 200_000 }, () => bytes.subarray(at, at + 16)),
  ]);
}
