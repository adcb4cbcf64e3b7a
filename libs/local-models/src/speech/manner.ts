// How to speak: `speed`, and the words about pace, pitch and loudness in `instructions`.

/** espeak-ng's own scales. */
interface Manner {
  /** Times the normal pace. */
  pace: number;
  /** 0 to 99; 50 is normal. */
  pitch: number;
  /** 0 to 200; 100 is normal. */
  amplitude: number;
}

const NORMAL: Manner = { pace: 1, pitch: 50, amplitude: 100 };

const SAID: readonly (readonly [RegExp, (manner: Manner) => Manner])[] = [
  [/\b(?:slow|slowly|slower|calm|calmly|relaxed|soothing)\b/, (m) => ({ ...m, pace: m.pace * 0.8 })],
  [/\b(?:fast|faster|quick|quickly|hurried|excited|energetic)\b/, (m) => ({ ...m, pace: m.pace * 1.25 })],
  [/\b(?:high|higher|bright|cheerful|cheerfully|excited|happy)\b/, (m) => ({ ...m, pitch: 70 })],
  [/\b(?:low|lower|deep|deeper|serious|sad|solemn)\b/, (m) => ({ ...m, pitch: 30 })],
  [/\b(?:loud|loudly|louder|shout|shouting)\b/, (m) => ({ ...m, amplitude: 170 })],
  [/\b(?:quiet|quietly|soft|softly|gentle|gently|whisper)\b/, (m) => ({ ...m, amplitude: 60 })],
];

export function mannerOf(instructions: string, speed: number): Manner {
  const said = instructions.toLowerCase();
  let manner: Manner = { ...NORMAL, pace: speed };
  for (const [words, change] of SAID) if (words.test(said)) manner = change(manner);
  return manner;
}

/** Words a minute at pace 1: a little slower than espeak-ng's own 175, and easier to follow. */
const WORDS_PER_MINUTE = 140;
// What espeak-ng speaks itself; beyond these the finished sound is stretched or pressed.
const WORDS_PER_MINUTE_MIN = 80;
const WORDS_PER_MINUTE_MAX = 400;
/** What one of ffmpeg's `atempo` filters does at least. */
const TEMPO_MIN = 0.5;

interface Tempo {
  wordsPerMinute: number;
  /** Factors of `atempo` filters, one after the other; empty when the voice alone is right. */
  stretches: number[];
}

export function tempoOf(pace: number): Tempo {
  const wanted = WORDS_PER_MINUTE * pace;
  const wordsPerMinute = Math.round(Math.min(Math.max(wanted, WORDS_PER_MINUTE_MIN), WORDS_PER_MINUTE_MAX));
  let rest = wanted / wordsPerMinute;
  const stretches: number[] = [];
  while (rest < TEMPO_MIN) {
    stretches.push(TEMPO_MIN);
    rest /= TEMPO_MIN;
  }
  if (Math.abs(rest - 1) > 0.01) stretches.push(rest);
  return { wordsPerMinute, stretches };
}
