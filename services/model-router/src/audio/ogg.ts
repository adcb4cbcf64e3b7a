// Ogg: splits pages into packets and counts the audio packets. The page positions (granules) are trusted only for the
// padding of the last packet.
import {
  evenPackets,
  flacPackets,
  OPUS_RATE_HZ,
  opusPackets,
  PACKET_HEAD_BYTES,
  type PacketCounter,
  vorbisPackets,
} from './packet-counter.ts';
import { readVorbisModes } from './vorbis.ts';

const PAGE_HEADER_BYTES = 27;
const FLAG_CONTINUED = 1;
const FLAG_FIRST = 2;
/** A Vorbis setup header is a few KiB. */
const HEADER_PACKET_BYTES_MAX = 1024 * 1024;
/** 11 hours of packets of 20 ms. */
const PIECES_MAX = 2_000_000;
const STREAMS_MAX = 1_000;

/**
 * Total duration of consecutive audio streams in seconds; null when there is none.
 * @throws RangeError for more streams or parts of packets than are read: the rest would be free
 */
export function measureOgg(bytes: Buffer): number | null {
  const streams = new Map<number, OggStream>();
  const all: OggStream[] = [];
  let pieces = 0;
  for (let at = bytes.indexOf('OggS'); at !== -1; ) {
    const page = readPage(bytes, at);
    if (!page) break;
    pieces += page.pieces.length;
    if (pieces > PIECES_MAX) throw new RangeError('too many packets');
    if (page.flags & FLAG_FIRST) {
      if (all.length === STREAMS_MAX) throw new RangeError('too many streams');
      const stream = new OggStream();
      streams.set(page.serial, stream);
      all.push(stream);
    }
    streams.get(page.serial)?.addPage(page);
    const next = at + page.bytes;
    at = bytes.toString('latin1', next, next + 4) === 'OggS' ? next : bytes.indexOf('OggS', next);
  }
  const heard = all.map((stream) => stream.seconds).filter((seconds) => seconds !== null);
  return heard.length === 0 ? null : heard.reduce((sum, seconds) => sum + seconds, 0);
}

interface Page {
  flags: number;
  granule: bigint;
  serial: number;
  /** Parts of packets; `ends` marks the last part of a packet. Empty packets are left out. */
  pieces: { data: Buffer; ends: boolean }[];
  bytes: number;
}

function readPage(bytes: Buffer, at: number): Page | null {
  const segments = bytes[at + 26];
  if (segments === undefined || at + PAGE_HEADER_BYTES + segments > bytes.length) return null;
  const flags = bytes[at + 5] as number;
  const pieces: Page['pieces'] = [];
  let start = at + PAGE_HEADER_BYTES + segments;
  let end = start;
  for (let index = 0; index < segments; index++) {
    const lacing = bytes[at + PAGE_HEADER_BYTES + index] as number;
    end += lacing;
    if (end > bytes.length) break; // truncated
    if (lacing === 255 && index < segments - 1) continue;
    const endsContinued = index === 0 && (flags & FLAG_CONTINUED) !== 0;
    if (start === end && !endsContinued) continue;
    pieces.push({ data: bytes.subarray(start, end), ends: lacing < 255 });
    start = end;
  }
  return {
    flags,
    granule: bytes.readBigInt64LE(at + 6),
    serial: bytes.readUInt32LE(at + 14),
    pieces,
    bytes: end - at,
  };
}

interface Codec {
  counter: PacketCounter;
  granulesPerSecond: number;
  /** Samples to skip before the audio starts. */
  skipSamples: number;
}

class OggStream {
  #headers: Buffer[] = [];
  #headersWanted = 1;
  #codec: Codec | null = null;
  /** Parts of the current packet, and their bytes. */
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #lastGranule = -1n;

  get seconds(): number | null {
    if (!this.#codec || this.#codec.counter.counted.packets === 0) return null;
    const { counter, granulesPerSecond, skipSamples } = this.#codec;
    const { counted } = counter;
    const endSeconds = Number(this.#lastGranule) / granulesPerSecond;
    const padding = counted.seconds - endSeconds;
    const trusted = padding > 0 && padding <= counted.lastSeconds ? padding : 0;
    return Math.max(0, counted.seconds - trusted - skipSamples / granulesPerSecond);
  }

  addPage({ flags, granule, pieces }: Page): void {
    if (!(flags & FLAG_CONTINUED)) this.#beginPacket();
    for (const { data, ends } of pieces) {
      this.#keep(data);
      if (!ends) continue;
      this.#addPacket(this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts));
      this.#beginPacket();
    }
    if (granule >= 0n) this.#lastGranule = granule;
  }

  #beginPacket(): void {
    this.#parts = [];
    this.#partsBytes = 0;
  }

  /** Audio packets need only their first bytes; header packets are kept whole. */
  #keep(data: Buffer): void {
    const most = this.#headersWanted > 0 ? HEADER_PACKET_BYTES_MAX : PACKET_HEAD_BYTES;
    if (this.#partsBytes >= most) return;
    const part = data.subarray(0, most - this.#partsBytes);
    this.#parts.push(part);
    this.#partsBytes += part.length;
  }

  #addPacket(packet: Buffer): void {
    if (this.#headersWanted === 0) return void this.#codec?.counter.add(packet);
    this.#headers.push(packet);
    if (this.#headers.length === 1) this.#headersWanted = headersOf(packet);
    if (--this.#headersWanted > 0) return;
    this.#codec = openCodec(this.#headers);
    this.#headers = [];
  }
}

/** Number of header packets, including the first one. */
function headersOf(first: Buffer): number {
  if (startsWith(first, '\x01vorbis')) return 3;
  // OpusTags; the Speex comment.
  if (startsWith(first, 'OpusHead') || startsWith(first, 'Speex   ')) return 2;
  // The count is in the header (0: unknown), and no header packet resembles a frame.
  return 1;
}

function openCodec(headers: Buffer[]): Codec | null {
  const [first = Buffer.alloc(0)] = headers;
  if (startsWith(first, 'OpusHead') && first.length >= 19)
    return { counter: opusPackets(), granulesPerSecond: OPUS_RATE_HZ, skipSamples: first.readUInt16LE(10) };
  if (startsWith(first, '\x01vorbis')) {
    const modes = readVorbisModes(first, headers[2] ?? Buffer.alloc(0));
    return modes && { counter: vorbisPackets(modes), granulesPerSecond: modes.rateHz, skipSamples: 0 };
  }
  if (startsWith(first, '\x7fFLAC') && first.length >= 30) {
    const rateHz = first.readUIntBE(27, 3) >> 4;
    return rateHz === 0 ? null : { counter: flacPackets(rateHz), granulesPerSecond: rateHz, skipSamples: 0 };
  }
  if (startsWith(first, 'Speex   ') && first.length >= 68) {
    const rateHz = first.readUInt32LE(36);
    const samples = first.readUInt32LE(56) * Math.max(1, first.readUInt32LE(64));
    return rateHz === 0 || samples === 0
      ? null
      : { counter: evenPackets(samples, rateHz), granulesPerSecond: rateHz, skipSamples: 0 };
  }
  return null; // not audio: an image or a skeleton stream
}

function startsWith(packet: Buffer, text: string): boolean {
  return packet.toString('latin1', 0, text.length) === text;
}
