// The audio formats that a transcription accepts, and the names of each.

interface AudioFormat {
  readonly mediaType: string;
  readonly aliases: readonly string[];
  /** File extensions, usual one first. */
  readonly extensions: readonly string[];
}

export const AUDIO_FORMATS = {
  mp3: {
    mediaType: 'audio/mpeg',
    aliases: [
      'audio/mp3',
      'audio/mpeg3',
      'audio/x-mpeg',
      'audio/x-mpeg-3',
      'audio/x-mp3',
      'audio/mpga',
      'video/mpeg',
    ],
    extensions: ['mp3', 'mpga', 'mpeg'],
  },
  wav: {
    mediaType: 'audio/wav',
    aliases: ['audio/x-wav', 'audio/wave', 'audio/vnd.wave', 'audio/x-pn-wav'],
    extensions: ['wav', 'wave'],
  },
  flac: { mediaType: 'audio/flac', aliases: ['audio/x-flac'], extensions: ['flac'] },
  ogg: {
    mediaType: 'audio/ogg',
    aliases: ['application/ogg', 'audio/opus', 'audio/vorbis', 'audio/x-ogg', 'audio/speex', 'video/ogg'],
    extensions: ['ogg', 'oga', 'opus', 'spx'],
  },
  mp4: {
    mediaType: 'audio/mp4',
    aliases: [
      'audio/m4a',
      'audio/x-m4a',
      'audio/mp4a-latm',
      'video/mp4',
      'video/quicktime',
      'audio/3gpp',
      'video/3gpp',
    ],
    extensions: ['m4a', 'mp4', 'm4b', 'mov', '3gp'],
  },
  webm: {
    mediaType: 'audio/webm',
    aliases: ['video/webm', 'audio/x-matroska', 'video/x-matroska', 'audio/matroska'],
    extensions: ['webm', 'mkv', 'mka'],
  },
  aac: { mediaType: 'audio/aac', aliases: ['audio/x-aac', 'audio/aacp'], extensions: ['aac'] },
  aiff: { mediaType: 'audio/aiff', aliases: ['audio/x-aiff'], extensions: ['aiff', 'aif', 'aifc'] },
  amr: { mediaType: 'audio/amr', aliases: ['audio/amr-wb', 'audio/3gpp2'], extensions: ['amr', 'awb'] },
  caf: { mediaType: 'audio/x-caf', aliases: ['audio/caf'], extensions: ['caf'] },
  au: { mediaType: 'audio/basic', aliases: ['audio/x-au', 'audio/au'], extensions: ['au', 'snd'] },
} as const satisfies Record<string, AudioFormat>;

export type AudioFormatName = keyof typeof AUDIO_FORMATS;

/** Sent for an unknown type: the file's name, or else the file itself, then decides. */
export const UNKNOWN_MEDIA_TYPE = 'application/octet-stream';

const entries = Object.entries(AUDIO_FORMATS) as [AudioFormatName, AudioFormat][];

/** The format of a media type (`audio/ogg; codecs=opus`) or of a bare ending (`wav`); null: unknown. */
export function audioFormatOf(mediaType: string): AudioFormatName | null {
  const name = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  const found = entries.find(
    ([, format]) =>
      format.mediaType === name || format.aliases.includes(name) || format.extensions.includes(name),
  );
  return found?.[0] ?? null;
}

/** The format by a file's ending; null: unknown. */
export function audioFormatOfFile(filename: string): AudioFormatName | null {
  const ending = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  return entries.find(([, format]) => format.extensions.includes(ending))?.[0] ?? null;
}
