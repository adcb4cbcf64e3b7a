// The voices of local/speech: OpenAI's names for espeak-ng's English voices, and the default.

/** local/transcribe understands it best. */
export const VOICE_DEFAULT = 'klara';

/** Name -> espeak-ng's voice and variant. */
export const VOICES: ReadonlyMap<string, string> = new Map([
  [VOICE_DEFAULT, 'en-us+klatt4'],
  ['alloy', 'en-us+klatt4'],
  ['ash', 'en-us+m1'],
  ['ballad', 'en-gb'],
  ['coral', 'en-us+f2'],
  ['echo', 'en-us'],
  ['fable', 'en-gb+f3'],
  ['nova', 'en-us+f4'],
  ['onyx', 'en-us+m3'],
  ['sage', 'en-gb-x-rp+f4'],
  ['shimmer', 'en-us+f2'],
  ['verse', 'en-gb-x-rp'],
]);
