// MP4 (m4a, mov): the sample size table gives the number of audio packets, and the codec gives the length of each.
// Durations in headers are trusted only for encoder padding.
import { AAC_BLOCK_SAMPLES, AAC_RATES_HZ } from './adts.ts';

/** Maximum packets of encoder padding, start and end together. */
const PADDING_PACKETS_MAX = 5;
const BOX_HEADER_BYTES = 8;
/** Limit on nested boxes, so that a hostile file cannot keep the parser busy. */
const BOXES_MAX = 200_000;

interface Track {
  id: number;
  isSound: boolean;
  packets: number;
  /** Seconds per packet; null for a codec that is not supported here. */
  packetSeconds: number | null;
  /** Duration according to the edit list. */
  playedSeconds: number | null;
}

/**
 * Duration of the longest audio track in seconds; null when none can be measured.
 * @throws RangeError for more boxes than are read, and for boxes that are nested too deep: the rest would be free
 */
export function measureMp4(bytes: Buffer): number | null {
  const tracks: Track[] = [];
  /** The first track of each id. */
  const byId = new Map<number, Track>();
  const budget = { boxes: BOXES_MAX };
  let movieScale = 0;
  for (const top of boxes(bytes, 0, bytes.length, budget)) {
    if (top.type === 'moov')
      for (const box of boxes(bytes, top.start, top.end, budget)) {
        if (box.type === 'mvhd') movieScale = timescaleOf(bytes, box);
        if (box.type !== 'trak') continue;
        const track = readTrack(bytes, box, movieScale, budget);
        tracks.push(track);
        if (!byId.has(track.id)) byId.set(track.id, track);
      }
    if (top.type === 'moof') countFragment(bytes, top, byId, budget);
  }
  const heard = tracks.filter((track) => track.isSound).map(secondsOf);
  const known = heard.filter((seconds) => seconds !== null);
  return known.length === 0 || known.length < heard.length ? null : Math.max(...known);
}

function secondsOf({ packets, packetSeconds, playedSeconds }: Track): number | null {
  if (packetSeconds === null || packets === 0) return null;
  const seconds = packets * packetSeconds;
  const padding = seconds - (playedSeconds ?? seconds);
  return padding > 0 && padding <= PADDING_PACKETS_MAX * packetSeconds ? seconds - padding : seconds;
}

interface Box {
  type: string;
  /** Start of the content. */
  start: number;
  end: number;
}

function* boxes(bytes: Buffer, from: number, to: number, budget: { boxes: number }): Generator<Box> {
  for (let at = from; at + BOX_HEADER_BYTES <= to; ) {
    if (budget.boxes-- <= 0) throw new RangeError('too many boxes');
    const told = bytes.readUInt32BE(at);
    const isLong = told === 1 && at + 16 <= to;
    const size = told === 0 ? to - at : isLong ? Number(bytes.readBigUInt64BE(at + 8)) : told;
    const header = isLong ? 16 : BOX_HEADER_BYTES;
    if (size < header) return;
    const end = Math.min(at + size, to);
    yield { type: bytes.toString('latin1', at + 4, at + 8), start: at + header, end };
    at += size;
  }
}

/** Reads `mvhd` or `mdhd`, whose times are 32-bit, or 64-bit in version 1. */
function timescaleOf(bytes: Buffer, { start, end }: Box): number {
  const at = start + (bytes[start] === 1 ? 20 : 12);
  return at + 4 <= end ? bytes.readUInt32BE(at) : 0;
}

function readTrack(bytes: Buffer, trak: Box, movieScale: number, budget: { boxes: number }): Track {
  const track: Track = { id: 0, isSound: false, packets: 0, packetSeconds: null, playedSeconds: null };
  const walk = (parent: Box) => {
    for (const box of boxes(bytes, parent.start, parent.end, budget)) {
      const { start, end } = box;
      if (['mdia', 'minf', 'stbl', 'edts'].includes(box.type)) walk(box);
      else if (box.type === 'tkhd') track.id = uint32(bytes, start + (bytes[start] === 1 ? 20 : 12), end);
      else if (box.type === 'hdlr')
        track.isSound = bytes.toString('latin1', start + 8, start + 12) === 'soun';
      else if (box.type === 'stsd' && track.isSound)
        track.packetSeconds = packetSecondsOf(bytes, box, budget);
      else if (box.type === 'stsz') track.packets = countSizes(bytes, box);
      else if (box.type === 'elst' && movieScale > 0) track.playedSeconds = playedOf(bytes, box) / movieScale;
    }
  };
  walk(trak);
  return track;
}

/** Number of non-empty packets, limited to the real size of the table. */
function countSizes(bytes: Buffer, { start, end }: Box): number {
  const oneSize = uint32(bytes, start + 4, end);
  const count = uint32(bytes, start + 8, end);
  if (oneSize > 0) return Math.min(count, Math.floor(bytes.length / oneSize));
  let packets = 0;
  const last = Math.min(end, start + 12 + count * 4);
  for (let at = start + 12; at + 4 <= last; at += 4) if (bytes.readUInt32BE(at) > 0) packets += 1;
  return packets;
}

/** Duration played by the edit list, in the movie's timescale. */
function playedOf(bytes: Buffer, { start, end }: Box): number {
  const isLong = bytes[start] === 1;
  const entryBytes = isLong ? 20 : 12;
  const last = Math.min(end, start + 8 + uint32(bytes, start + 4, end) * entryBytes);
  let played = 0;
  for (let at = start + 8; at + entryBytes <= last; at += entryBytes) {
    const isEmpty = (isLong ? bytes.readBigInt64BE(at + 8) : BigInt(bytes.readInt32BE(at + 4))) === -1n;
    if (!isEmpty) played += isLong ? Number(bytes.readBigUInt64BE(at)) : bytes.readUInt32BE(at);
  }
  return played;
}

/** Bytes of an audio sample entry before its boxes; later QuickTime versions have more. */
const SOUND_ENTRY_BYTES = [28, 44, 64];

function packetSecondsOf(bytes: Buffer, stsd: Box, budget: { boxes: number }): number | null {
  const [entry] = boxes(bytes, stsd.start + 8, stsd.end, budget);
  if (!entry || entry.start + 28 > entry.end) return null;
  const inside = entry.start + (SOUND_ENTRY_BYTES[bytes.readUInt16BE(entry.start + 8)] ?? 28);
  if (entry.type === 'mp4a') {
    const esds = findBox(bytes, inside, entry.end, 'esds', budget);
    return esds ? aacPacketSeconds(bytes, esds) : null;
  }
  if (entry.type === 'alac') {
    const cookie = findBox(bytes, inside, entry.end, 'alac', budget);
    if (!cookie || cookie.start + 28 > cookie.end) return null;
    const rateHz = bytes.readUInt32BE(cookie.start + 24);
    return rateHz === 0 ? null : bytes.readUInt32BE(cookie.start + 4) / rateHz;
  }
  return null;
}

function findBox(
  bytes: Buffer,
  from: number,
  to: number,
  type: string,
  budget: { boxes: number },
): Box | null {
  for (const box of boxes(bytes, from, to, budget)) {
    if (box.type === type) return box;
    const inner = box.type === 'wave' ? findBox(bytes, box.start, box.end, type, budget) : null;
    if (inner) return inner;
  }
  return null;
}

const DECODER_CONFIG = 4;
const DECODER_SPECIFIC = 5;
/** AAC object types of MPEG-4 (0x40) and MPEG-2 (0x66 to 0x68). */
const AAC_OBJECT_TYPES = [0x40, 0x66, 0x67, 0x68];

/** Reads the descriptors of `esds`; the decoder configuration holds the AAC type and its rate. */
function aacPacketSeconds(bytes: Buffer, { start, end }: Box): number | null {
  let at = start + 4;
  while (at + 2 <= end) {
    const tag = bytes[at++] as number;
    let size = 0;
    for (let more = true; more && at < end; ) {
      const byte = bytes[at++] as number;
      size = size * 128 + (byte & 0x7f);
      more = byte >= 0x80;
    }
    if (tag === DECODER_SPECIFIC) return aacSeconds(bytes.subarray(at, Math.min(at + size, end)));
    if (tag === DECODER_CONFIG && !AAC_OBJECT_TYPES.includes(bytes[at] as number)) return null;
    // Enter the elementary stream (id and flags) and the configuration (13 bytes of fields).
    at += tag === 3 ? 3 : tag === DECODER_CONFIG ? 13 : size;
  }
  return null;
}

/** Object types with packets of 1,024 samples, or 960 of type 2: AAC Main, LC, SSR and LTP, and SBR and PS over LC. */
const AAC_TYPES = [1, 2, 3, 4, 5, 29];

/**
 * AudioSpecificConfig: object type (5 bits), rate (4 bits, or 24 more), channels (4 bits), and a flag for blocks of 960
 * samples. Null for other types than `AAC_TYPES`: their packets have other lengths.
 */
export function aacSeconds(config: Buffer): number | null {
  if (config.length < 2 || !AAC_TYPES.includes((config[0] as number) >> 3)) return null;
  const rateIndex = (config.readUInt16BE(0) >> 7) & 15;
  if (rateIndex === 15 && config.length < 5) return null;
  const rateHz = rateIndex === 15 ? (config.readUInt32BE(1) >>> 7) & 0xffffff : AAC_RATES_HZ[rateIndex];
  const isShort =
    rateIndex !== 15 && config[0] !== undefined && config[0] >> 3 === 2 && ((config[1] as number) & 4) !== 0;
  return rateHz ? (isShort ? 960 : AAC_BLOCK_SAMPLES) / rateHz : null;
}

function countFragment(
  bytes: Buffer,
  moof: Box,
  tracks: ReadonlyMap<number, Track>,
  budget: { boxes: number },
): void {
  for (const traf of boxes(bytes, moof.start, moof.end, budget)) {
    if (traf.type !== 'traf') continue;
    let track: Track | undefined;
    for (const box of boxes(bytes, traf.start, traf.end, budget)) {
      const id = uint32(bytes, box.start + 4, box.end);
      if (box.type === 'tfhd') track = tracks.get(id);
      if (box.type === 'trun' && track) track.packets += Math.min(id, bytes.length); // packet count
    }
  }
}

function uint32(bytes: Buffer, at: number, end: number): number {
  return at + 4 <= end ? bytes.readUInt32BE(at) : 0;
}
