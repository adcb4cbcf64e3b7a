// The audio formats that a transcription accepts, and the names of each.

interface AudioFormat {
  readonly mediaType: string;
  readonly alsoCalled: readonly string[];
  /** File extensions, usual one first. */
  readonly endings: readonly string[];
}

export const AUDIO_FORMATS = {
  mp3: {
    mediaType: 'audio/mpeg',
    alsoCalled: [
      'audio/mp3',
      'audio/mpeg3',
      'audio/x-mpeg',
      'audio/x-mpeg-3',
      'audio/x-mp3',
      'audio/mpga',
      'video/mpeg',
    ],
    endings: ['mp3', 'mpga', 'mpeg'],
  },
  wav: {
    mediaType: 'audio/wav',
    alsoCalled: ['audio/x-wav', 'audio/wave', 'audio/vnd.wave', 'audio/x-pn-wav'],
    endings: ['wav', 'wave'],
  },
  flac: { mediaType: 'audio/flac', alsoCalled: ['audio/x-flac'], endings: ['flac'] },
  ogg: {
    mediaType: 'audio/ogg',
    alsoCalled: ['application/ogg', 'audio/opus', 'audio/vorbis', 'audio/x-ogg', 'audio/speex', 'video/ogg'],
    endings: ['ogg', 'oga', 'opus', 'spx'],
  },
  mp4: {
    mediaType: 'audio/mp4',
    alsoCalled: [
      'audio/m4a',
      'audio/x-m4a',
      'audio/mp4a-latm',
      'video/mp4',
      'video/quicktime',
      'audio/3gpp',
      'video/3gpp',
    ],
    endings: ['m4a', 'mp4', 'm4b', 'mov', '3gp'],
  },
  webm: {
    mediaType: 'audio/webm',
    alsoCalled: ['video/webm', 'audio/x-matroska', 'video/x-matroska', 'audio/matroska'],
    endings: ['webm', 'mkv', 'mka'],
  },
  aac: { mediaType: 'audio/aac', alsoCalled: ['audio/x-aac', 'audio/aacp'], endings: ['aac'] },
  aiff: { mediaType: 'audio/aiff', alsoCalled: ['audio/x-aiff'], endings: ['aiff', 'aif', 'aifc'] },
  amr: { mediaType: 'audio/amr', alsoCalled: ['audio/amr-wb', 'audio/3gpp2'], endings: ['amr', 'awb'] },
  caf: { mediaType: 'audio/x-caf', alsoCalled: ['audio/caf'], endings: ['caf'] },
  au: { mediaType: 'audio/basic', alsoCalled: ['audio/x-au', 'audio/au'], endings: ['au', 'snd'] },
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
      format.mediaType === name || format.alsoCalled.includes(name) || format.endings.includes(name),
  );
  return found?.[0] ?? null;
}

/** The format by a file's ending; null: unknown. */
export function audioFormatOfFile(filename: string): AudioFormatName | null {
  const ending = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  return entries.find(([, format]) => format.endings.includes(ending))?.[0] ?? null;
}
