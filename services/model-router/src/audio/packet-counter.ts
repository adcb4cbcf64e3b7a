// Counts the samples in a container's audio packets by the first bytes of each packet.
import { readFlacFrameHead } from './flac.ts';
import { Samples } from './samples.ts';
import { type VorbisModes, vorbisBlock } from './vorbis.ts';

/** Counts the packets of one stream. */
export interface PacketCounter {
  readonly counted: Samples;
  /** @param packet at least its first bytes (`PACKET_HEAD_BYTES`) */
  add(packet: Buffer): void;
}

/** Maximum bytes of a packet that any counter reads. */
export const PACKET_HEAD_BYTES = 32;

export const OPUS_RATE_HZ = 48_000;
/** Samples per frame, by the configuration in the table-of-contents byte. */
const OPUS_SILK = [480, 960, 1_920, 2_880];
const OPUS_HYBRID = [480, 960];
const OPUS_CELT = [120, 240, 480, 960];

export function opusPackets(): PacketCounter {
  const counted = new Samples();
  return {
    counted,
    add(packet) {
      const samples = opusSamples(packet);
      if (samples > 0) counted.add(samples, OPUS_RATE_HZ);
    },
  };
}

function opusSamples(packet: Buffer): number {
  const toc = packet[0];
  if (toc === undefined) return 0;
  const config = toc >> 3;
  const frame =
    config < 12 ? OPUS_SILK[config & 3] : config < 16 ? OPUS_HYBRID[config & 1] : OPUS_CELT[config & 3];
  const code = toc & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : (packet[1] ?? 0) & 0x3f;
  return frames * (frame as number);
}

/** Neighbouring blocks overlap by half, so the first block yields no samples. */
export function vorbisPackets(modes: VorbisModes): PacketCounter {
  const counted = new Samples();
  let before: number | null = null;
  return {
    counted,
    add(packet) {
      const block = vorbisBlock(modes, packet);
      if (block === null) return;
      if (before !== null) counted.add((before + block) / 4, modes.rateHz);
      before = block;
    },
  };
}

/** Packets of a fixed length. */
export function evenPackets(samples: number, rateHz: number): PacketCounter {
  const counted = new Samples();
  return { counted, add: (packet) => packet.length > 0 && counted.add(samples, rateHz) };
}

export function flacPackets(streamRateHz: number): PacketCounter {
  const counted = new Samples();
  return {
    counted,
    add(packet) {
      const head = readFlacFrameHead(packet, 0);
      if (head) counted.add(head.blockSamples, head.rateHz ?? streamRateHz);
    },
  };
}
