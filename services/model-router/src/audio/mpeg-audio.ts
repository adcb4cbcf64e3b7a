// MP3 and the older MPEG layers: counts frames, since each states its length. The encoder header in the first frame
// (Xing, Info, VBRI) is trusted only for padding, which is limited to 12 bits.
import { Samples } from './samples.ts';

interface Frame {
  bytes: number;
  samples: number;
  rateHz: number;
  /** Version, layer and rate, which are equal in all frames of a stream. Joined files are several streams. */
  kind: number;
}

const BITRATES_KBPS: Readonly<Record<string, readonly number[]>> = {
  '1.1': [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  '1.2': [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  '1.3': [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  '2.1': [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  '2.2': [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  '2.3': [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
const RATES_HZ = [44_100, 48_000, 32_000];

/** Bytes of a frame's header. */
const HEADER_BYTES = 4;
/** Maximum bytes to search for the first frame; besides a tag, other data may precede it. */
const LEAD_BYTES_MAX = 64 * 1024;

/** Duration in seconds; null when there are no frames. */
export function measureMpegAudio(bytes: Buffer): number | null {
  const counted = new Samples();
  let trimSeconds = 0;
  let at = findFrame(bytes, 0, Math.min(bytes.length, LEAD_BYTES_MAX), null);
  let kind: number | null = null;
  while (at !== null) {
    const frame = readFrame(bytes, at) as Frame;
    if (at + frame.bytes > bytes.length && counted.packets > 0) break; // a truncated frame; decoders do not play it
    const head = kind === null ? readEncoderHead(bytes.subarray(at, at + frame.bytes)) : null;
    kind = frame.kind;
    if (head) trimSeconds = head.trimSamples / frame.rateHz;
    else counted.add(frame.samples, frame.rateHz);
    const next = at + frame.bytes;
    at = readFrame(bytes, next)?.kind === kind ? next : findFrame(bytes, next, bytes.length, kind);
  }
  return counted.packets === 0 ? null : Math.max(0, counted.seconds - trimSeconds);
}

/** The next position where two frames of one kind follow each other, or where one of `kind` ends the file. */
function findFrame(bytes: Buffer, from: number, until: number, kind: number | null): number | null {
  for (let at = bytes.indexOf(0xff, from); at !== -1 && at < until; at = bytes.indexOf(0xff, at + 1)) {
    const frame = readFrame(bytes, at);
    if (!frame) continue;
    const next = at + frame.bytes;
    if (readFrame(bytes, next)?.kind === frame.kind) return at;
    const endsFile = next + HEADER_BYTES > bytes.length;
    if (endsFile && (kind === null || kind === frame.kind)) return at;
  }
  return null;
}

function readFrame(bytes: Buffer, at: number): Frame | null {
  if (at + HEADER_BYTES > bytes.length || bytes[at] !== 0xff) return null;
  const second = bytes[at + 1] as number;
  const third = bytes[at + 2] as number;
  const version = (second >> 3) & 3;
  const layer = 4 - ((second >> 1) & 3);
  const bitrateIndex = third >> 4;
  const baseRate = RATES_HZ[(third >> 2) & 3];
  // The standard allows a free bitrate (0), but no encoder uses it.
  if (
    (second & 0xe0) !== 0xe0 ||
    version === 1 ||
    layer === 4 ||
    bitrateIndex % 15 === 0 ||
    baseRate === undefined
  )
    return null;
  const isVersion1 = version === 3;
  const rateHz = baseRate / (isVersion1 ? 1 : version === 2 ? 2 : 4);
  const bitrate = (BITRATES_KBPS[`${isVersion1 ? 1 : 2}.${layer}`]?.[bitrateIndex - 1] ?? 0) * 1_000;
  const padding = (third >> 1) & 1;
  const kind = (second & 0xfe) | (((third >> 2) & 3) << 8);
  if (layer === 1)
    return { bytes: (Math.floor((12 * bitrate) / rateHz) + padding) * 4, samples: 384, rateHz, kind };
  const samples = layer === 3 && !isVersion1 ? 576 : 1_152;
  return { bytes: Math.floor((samples * bitrate) / 8 / rateHz) + padding, samples, rateHz, kind };
}

const XING_FLAGS: readonly [flag: number, bytes: number][] = [
  [1, 4],
  [2, 4],
  [4, 100],
  [8, 4],
];
const LAME_TRIM_AT = 21;

/** Reads an encoder header frame, which holds no audio; null for an audio frame. */
function readEncoderHead(frame: Buffer): { trimSamples: number } | null {
  if (frame.subarray(36, 40).toString('latin1') === 'VBRI') return { trimSamples: 0 };
  // The header follows the frame's side information, whose length depends on version and channels.
  const at = [13, 21, 36].find((place) =>
    /^(Xing|Info)$/.test(frame.subarray(place, place + 4).toString('latin1')),
  );
  if (at === undefined || at + 8 > frame.length) return null;
  const flags = frame.readUInt32BE(at + 4);
  const lame = XING_FLAGS.reduce((place, [flag, bytes]) => place + (flags & flag ? bytes : 0), at + 8);
  const trimAt = lame + LAME_TRIM_AT;
  if (trimAt + 3 > frame.length || frame[lame] === 0) return { trimSamples: 0 };
  const trim = frame.readUIntBE(trimAt, 3);
  return { trimSamples: (trim >> 12) + (trim & 0xfff) };
}
