// The voices of local/speech: espeak-ng's English ones under names that can be remembered.

/** Name -> espeak-ng's voice and variant. The first is the default: local/transcribe understands it best. */
export const VOICES = {
  klara: 'en-us+klatt4',
  sam: 'en-us',
  anna: 'en-us+f2',
  ruth: 'en-us+f4',
  max: 'en-us+m1',
  otto: 'en-us+m3',
  emma: 'en-gb+f3',
  george: 'en-gb',
  hamish: 'en-gb-scotland',
  victoria: 'en-gb-x-rp+f4',
  winston: 'en-gb-x-rp',
  marley: 'en-029',
} as const satisfies Record<string, string>;

type VoiceName = keyof typeof VOICES;

export const VOICE_DEFAULT: VoiceName = 'klara';

/** OpenAI's names, so that programs written for its voices are heard here too. */
export const OPENAI_VOICES: Readonly<Record<string, VoiceName>> = {
  alloy: 'klara',
  ash: 'max',
  ballad: 'george',
  coral: 'anna',
  echo: 'sam',
  fable: 'emma',
  nova: 'ruth',
  onyx: 'otto',
  sage: 'victoria',
  shimmer: 'anna',
  verse: 'winston',
};

/** espeak-ng's own name for a voice; null when there is none of this name. */
export function espeakVoice(name: string): string | null {
  const wanted = name.toLowerCase();
  const own = Object.hasOwn(OPENAI_VOICES, wanted) ? OPENAI_VOICES[wanted] : wanted;
  return own !== undefined && Object.hasOwn(VOICES, own) ? VOICES[own as VoiceName] : null;
}
