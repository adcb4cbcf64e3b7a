// WebM and Matroska: counts the packets of each audio track; the longest track is charged, since makers differ in which
// track they read. Stated durations are ignored; browser recorders write none.
import { aacSeconds } from './mp4.ts';
import { evenPackets, opusPackets, type PacketCounter, vorbisPackets } from './packet-counter.ts';
import { readVorbisModes } from './vorbis.ts';

const ID = {
  segment: 0x18538067,
  cluster: 0x1f43b675,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  codecId: 0x86,
  contentEncodings: 0x6d80,
  codecPrivate: 0x63a2,
  codecDelay: 0x56aa,
  discardPadding: 0x75a2,
} as const;

/** Elements that contain other elements. */
const PARENTS: ReadonlySet<number> = new Set([ID.segment, ID.cluster, ID.blockGroup, ID.tracks]);
const TRACK_TYPE_SOUND = 2;
const TRACKS_MAX = 1_000;
/** 11 hours of packets of 20 ms. */
const ELEMENTS_MAX = 2_000_000;
const NANOS_PER_SECOND = 1e9;
const INTEGER_BYTES_MAX = 8;
/** Codec names are shorter; it bounds a regular expression. */
const CODEC_BYTES_MAX = 64;

interface Element {
  id: number;
  start: number;
  /** For an element of unknown size (live recordings): the end of its parent. */
  end: number;
}

interface SoundTrack {
  number: number;
  /** Null for a codec that is not counted here, and for packets that are compressed or encrypted. */
  counter: PacketCounter | null;
  delaySeconds: number;
  discardSeconds: number;
}

/**
 * Duration of the longest audio track in seconds; null when a track cannot be measured, or there is none.
 * @throws RangeError for more elements or tracks than are read, and for unreadable elements: the rest would be free
 */
export function measureWebm(bytes: Buffer): number | null {
  const tracks = new Map<number, SoundTrack>();
  let latest: SoundTrack | null = null;
  for (const element of elements(bytes)) {
    const { id, start, end } = element;
    if (id === ID.trackEntry) addTrack(tracks, readTrack(bytes, element));
    else if (id === ID.discardPadding && latest && end - start <= INTEGER_BYTES_MAX)
      latest.discardSeconds = Number(signed(bytes, start, end)) / NANOS_PER_SECOND;
    else if (id === ID.simpleBlock || id === ID.block) latest = addBlock(bytes, element, tracks);
  }
  let longest: number | null = null;
  for (const { counter, discardSeconds, delaySeconds } of tracks.values()) {
    if (!counter) return null;
    const { packets, seconds, lastSeconds } = counter.counted;
    if (packets === 0) continue;
    const discarded = discardSeconds > 0 && discardSeconds <= lastSeconds ? discardSeconds : 0;
    longest = Math.max(longest ?? 0, seconds - discarded - delaySeconds);
  }
  return longest;
}

/** Joined files repeat their tracks: the first one with a number counts the blocks of all. */
function addTrack(tracks: Map<number, SoundTrack>, track: SoundTrack | null): void {
  if (!track || tracks.has(track.number)) return;
  if (tracks.size === TRACKS_MAX) throw new RangeError('too many tracks');
  tracks.set(track.number, track);
}

/** All elements; a parent precedes its children. */
function* elements(bytes: Buffer): Generator<Element> {
  let at = 0;
  /** Ends of the parents at this place, the innermost last; only those that end earlier than the parent before. */
  const ends = [bytes.length];
  for (let count = 0; at < bytes.length; count++) {
    if (count === ELEMENTS_MAX) throw new RangeError('too many elements');
    while (at >= (ends.at(-1) as number)) ends.pop();
    const to = ends.at(-1) as number;
    const element = readElement(bytes, at, to);
    yield element;
    const isParent = PARENTS.has(element.id);
    if (isParent && element.end < to) ends.push(element.end);
    at = isParent ? element.start : element.end;
  }
}

/**
 * Reads an element of a parent that ends at `to`. A parent may overrun the end of a file that was cut off.
 * @throws RangeError when decoders may find audio elsewhere than after this element
 */
function readElement(bytes: Buffer, at: number, to: number): Element {
  const idBytes = lengthOf(bytes[at] ?? 0);
  const size = idBytes > 4 ? null : readVint(bytes, at + idBytes);
  if (!size) throw new RangeError('unreadable element');
  const id = bytes.readUIntBE(at, idBytes);
  const start = at + idBytes + size.bytes;
  const end = size.value === null ? Infinity : start + size.value;
  const mayOverrun = PARENTS.has(id) && (size.value === null || to === bytes.length);
  if (start > to || (end > to && !mayOverrun)) throw new RangeError('element overruns its parent');
  return { id, start, end: Math.min(end, to) };
}

/** Length of a variable-size number, by the leading zeros of its first byte. */
function lengthOf(first: number): number {
  return Math.clz32(first) - 23;
}

/** Reads a variable-size number; the value null means an unknown size. */
function readVint(bytes: Buffer, at: number): { value: number | null; bytes: number } | null {
  const first = bytes[at] ?? 0;
  const length = lengthOf(first);
  if (length > 8 || at + length > bytes.length) return null;
  let value = first & (0xff >> length);
  let isUntold = value === 0xff >> length;
  for (let index = 1; index < length; index++) {
    const byte = bytes[at + index] as number;
    value = value * 256 + byte;
    isUntold &&= byte === 0xff;
  }
  return { value: isUntold ? null : value, bytes: length };
}

/** Null for a non-audio track. */
function readTrack(bytes: Buffer, entry: Element): SoundTrack | null {
  const fields = new Map<number, Buffer>();
  for (let at = entry.start; at < entry.end; ) {
    const element = readElement(bytes, at, entry.end);
    fields.set(element.id, bytes.subarray(element.start, element.end));
    at = element.end;
  }
  const number = (id: number) => unsigned(fields.get(id));
  if (number(ID.trackType) !== TRACK_TYPE_SOUND) return null;
  const codecId = fields.get(ID.codecId)?.subarray(0, CODEC_BYTES_MAX);
  const codec = codecId?.toString('latin1').replace(/\0+$/, '') ?? '';
  const config = fields.get(ID.codecPrivate) ?? Buffer.alloc(0);
  const counter = fields.has(ID.contentEncodings) ? null : counterOf(codec, config);
  // Limited to the longest possible Opus pre-skip.
  const delaySeconds = Math.min(number(ID.codecDelay) / NANOS_PER_SECOND, DELAY_SECONDS_MAX);
  return { number: number(ID.trackNumber), counter, delaySeconds, discardSeconds: 0 };
}

const DELAY_SECONDS_MAX = 0.12;

function counterOf(codec: string, config: Buffer): PacketCounter | null {
  if (codec === 'A_OPUS') return opusPackets();
  if (codec === 'A_VORBIS') {
    const [identification, , setup] = unlaceHeaders(config);
    const modes = identification && setup ? readVorbisModes(identification, setup) : null;
    return modes && vorbisPackets(modes);
  }
  const seconds = codec.startsWith('A_AAC') ? aacSeconds(config) : null;
  return seconds === null ? null : evenPackets(seconds, 1);
}

/**
 * Splits the three Vorbis headers in one field: their count minus one, the lengths of all but the last, and the
 * headers.
 */
function unlaceHeaders(config: Buffer): Buffer[] {
  const lengths: number[] = [];
  let at = 1;
  for (let index = 0; index < (config[0] ?? 0); index++) {
    let length = 0;
    let byte = 255;
    while (byte === 255 && at < config.length) {
      byte = config[at++] as number;
      length += byte;
    }
    lengths.push(length);
  }
  return cut(config.subarray(at), lengths);
}

/** Splits into parts of these lengths, and the rest. */
function cut(bytes: Buffer, lengths: number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const length of lengths) {
    pieces.push(bytes.subarray(at, at + Math.max(0, length)));
    at += Math.max(0, length);
  }
  return [...pieces, bytes.subarray(at)];
}

const LACING = { none: 0, xiph: 1, fixed: 2, ebml: 3 } as const;

/**
 * Adds a block: its track, a time (2 bytes), flags, and one or several frames preceded by their lengths.
 * @returns the track; null for a non-audio block
 */
function addBlock(
  bytes: Buffer,
  { start, end }: Element,
  tracks: ReadonlyMap<number, SoundTrack>,
): SoundTrack | null {
  const number = readVint(bytes, start);
  const track = number?.value == null ? null : (tracks.get(number.value) ?? null);
  if (!number || !track?.counter) return track;
  const flagsAt = start + number.bytes + 2;
  const lacing = ((bytes[flagsAt] ?? 0) >> 1) & 3;
  const frames = bytes.subarray(flagsAt + 1, end);
  for (const frame of lacing === LACING.none ? [frames] : unlace(frames, lacing))
    if (frame.length > 0) track.counter.add(frame);
  return track;
}

function unlace(block: Buffer, lacing: number): Buffer[] {
  const count = (block[0] ?? 0) + 1;
  if (count > block.length) return []; // each length, and each frame of a fixed length, has at least one byte
  const lengths: number[] = [];
  let at = 1;
  if (lacing === LACING.fixed) {
    const length = Math.floor((block.length - 1) / count);
    return Array.from({ length: count }, (_, index) =>
      block.subarray(1 + index * length, 1 + (index + 1) * length),
    );
  }
  while (lengths.length < count - 1) {
    if (lacing === LACING.xiph) {
      let length = 0;
      let byte = 255;
      while (byte === 255 && at < block.length) {
        byte = block[at++] as number;
        length += byte;
      }
      lengths.push(length);
    } else {
      const size = readVint(block, at);
      if (!size) return [];
      at += size.bytes;
      // The first length is absolute; each further one is a signed difference to the previous one.
      const value = size.value ?? 0;
      lengths.push(
        lengths.length === 0 ? value : (lengths.at(-1) ?? 0) + value - (2 ** (7 * size.bytes - 1) - 1),
      );
    }
  }
  return cut(block.subarray(at), lengths);
}

function unsigned(field: Buffer = Buffer.alloc(0)): number {
  let value = 0;
  for (const byte of field) value = value * 256 + byte;
  return value;
}

function signed(bytes: Buffer, start: number, end: number): bigint {
  let value = 0n;
  for (let at = start; at < end; at++) value = (value << 8n) | BigInt(bytes[at] as number);
  return BigInt.asIntN(8 * (end - start), value);
}
