// Subtitles: SubRip and WebVTT differ in their header and in the decimal mark before the milliseconds.

export interface Cue {
  /** Seconds from the start of the audio. */
  start: number;
  end: number;
  text: string;
}

export function toSrt(cues: readonly Cue[]): string {
  return cues.map((cue, index) => `${index + 1}\n${times(cue, ',')}\n${lines(cue)}\n\n`).join('');
}

export function toVtt(cues: readonly Cue[]): string {
  return `WEBVTT\n\n${cues.map((cue) => `${times(cue, '.')}\n${unmarked(lines(cue))}\n\n`).join('')}`;
}

function times({ start, end }: Cue, mark: ',' | '.'): string {
  return `${clock(start, mark)} --> ${clock(end, mark)}`;
}

function clock(seconds: number, mark: string): string {
  const millis = Math.max(0, Math.round(seconds * 1_000));
  const part = (unit: number, of: number) => String(Math.floor(millis / unit) % of).padStart(2, '0');
  const hours = String(Math.floor(millis / 3_600_000)).padStart(2, '0');
  return `${hours}:${part(60_000, 60)}:${part(1_000, 60)}${mark}${String(millis % 1_000).padStart(3, '0')}`;
}

/** Removes empty lines, which would end the cue. */
function lines({ text }: Cue): string {
  return text.trim().replaceAll(/(\r?\n)+/g, '\n');
}

/** Escapes WebVTT markup, and `-->`, which would end the cue. */
function unmarked(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
