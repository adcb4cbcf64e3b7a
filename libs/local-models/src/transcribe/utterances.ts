// Cuts a stream of samples into utterances at its pauses, and prepares each for the recogniser: one loudness, a little
// quiet before and after, and a faint noise, without which a synthetic voice's digital silence is misread.

export const SAMPLE_RATE_HZ = 16_000;

interface Utterance {
  /** Sample of the stream at which it begins (before it, when its quiet is not in the stream). */
  start: number;
  samples: Int16Array<ArrayBuffer>;
}

const FRAME_SAMPLES = SAMPLE_RATE_HZ / 50; // 20 ms
/** A pause this long ends an utterance. */
const PAUSE_FRAMES = 45;
/** Past this length a shorter pause will do. */
const LONG_FRAMES = 10 * 50;
const SHORT_PAUSE_FRAMES = 10;
/** Maximum length, without a pause. */
const UTTERANCE_FRAMES_MAX = 20 * 50;
/** Quiet kept before and after. */
const QUIET_SAMPLES = SAMPLE_RATE_HZ / 4;
/** Frames of sound that make an utterance; less is a click. */
const SOUND_FRAMES_MIN = 4;
/** Root mean square under which a frame is quiet, whatever else is heard. */
const LOUDNESS_MIN = 60;
/** Speech is louder than the noise by this. */
const NOISE_FACTOR = 3;
/** The noise level falls at once, and rises by this factor each frame. */
const NOISE_RISE = 1.01;
const NOISE_START = 40;
const PEAK = 16_000;
/** An utterance is not made louder than this, so that hum stays hum. */
const GAIN_MAX = 20;
/** Half the width of the added noise, in steps of a 16-bit sample. */
const DITHER = 20;

export class UtteranceCutter {
  /** Samples seen. */
  samples = 0;
  #rest: Int16Array = new Int16Array(0);
  #frames: Int16Array[] = [];
  #start = 0;
  #soundFrames = 0;
  #quietFrames = 0;
  #noise = NOISE_START;
  /** The frame before, which may hold a word's soft beginning. */
  #before: Int16Array | null = null;

  *push(samples: Int16Array): Generator<Utterance> {
    const all = joined([this.#rest, samples]);
    const end = all.length - (all.length % FRAME_SAMPLES);
    for (let at = 0; at < end; at += FRAME_SAMPLES) {
      const ready = this.#frame(all.subarray(at, at + FRAME_SAMPLES), this.samples - this.#rest.length + at);
      if (ready) yield ready;
    }
    this.samples += samples.length;
    this.#rest = all.slice(end);
  }

  *end(): Generator<Utterance> {
    const ready = this.#finish();
    if (ready) yield ready;
  }

  #frame(frame: Int16Array, at: number): Utterance | null {
    const loudness = rootMeanSquare(frame);
    const sound = loudness > Math.max(LOUDNESS_MIN, this.#noise * NOISE_FACTOR);
    this.#noise = Math.max(1, Math.min(loudness, this.#noise * NOISE_RISE));
    if (this.#frames.length === 0) {
      if (sound) this.#begin(frame, at);
      else this.#before = frame;
      return null;
    }
    this.#frames.push(frame);
    this.#soundFrames += sound ? 1 : 0;
    this.#quietFrames = sound ? 0 : this.#quietFrames + 1;
    const pause = this.#frames.length > LONG_FRAMES ? SHORT_PAUSE_FRAMES : PAUSE_FRAMES;
    return this.#quietFrames >= pause || this.#frames.length >= UTTERANCE_FRAMES_MAX ? this.#finish() : null;
  }

  #begin(frame: Int16Array, at: number): void {
    this.#frames = this.#before ? [this.#before, frame] : [frame];
    this.#start = this.#before ? at - FRAME_SAMPLES : at;
    this.#soundFrames = 1;
    this.#quietFrames = 0;
  }

  #finish(): Utterance | null {
    const sound = joined(this.#frames);
    const isSpeech = this.#soundFrames >= SOUND_FRAMES_MIN;
    this.#frames = [];
    this.#before = null;
    return isSpeech ? { start: this.#start - QUIET_SAMPLES, samples: prepared(sound) } : null;
  }
}

function prepared(sound: Int16Array): Int16Array<ArrayBuffer> {
  let peak = 1;
  for (const sample of sound) peak = Math.max(peak, Math.abs(sample));
  const gain = Math.min(PEAK / peak, GAIN_MAX);
  const samples = new Int16Array(sound.length + 2 * QUIET_SAMPLES);
  let random = 1;
  for (let at = 0; at < samples.length; at += 1) {
    // A linear congruence is noise enough, and the same each time: the same file gives the same text.
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) | 0;
    const heard = sound[at - QUIET_SAMPLES] ?? 0;
    samples[at] = Math.round(heard * gain + (random / 2 ** 31) * DITHER);
  }
  return samples;
}

function rootMeanSquare(frame: Int16Array): number {
  let sum = 0;
  for (const sample of frame) sum += sample * sample;
  return Math.sqrt(sum / frame.length);
}

function joined(parts: Int16Array[]): Int16Array {
  const all = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
