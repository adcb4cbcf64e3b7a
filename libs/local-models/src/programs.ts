// The system programs that local models use, and the Debian packages that contain them. The set-up installs
// `DEBIAN_PACKAGES`; a model whose program is missing refuses with 503, naming the package.

export const PROGRAMS = {
  'espeak-ng': { debianPackage: 'espeak-ng' },
  ffmpeg: { debianPackage: 'ffmpeg' },
  pocketsphinx_batch: { debianPackage: 'pocketsphinx' },
} as const satisfies Record<string, { debianPackage: string }>;

export type ProgramName = keyof typeof PROGRAMS;

/** The American English acoustic model, language model and dictionary of pocketsphinx. */
export const ENGLISH_SPEECH_MODEL = {
  debianPackage: 'pocketsphinx-en-us',
  path: '/usr/share/pocketsphinx/model/en-us',
} as const;

export const DEBIAN_PACKAGES: readonly string[] = [
  ...new Set(Object.values(PROGRAMS).map(({ debianPackage }) => debianPackage)),
  ENGLISH_SPEECH_MODEL.debianPackage,
];
