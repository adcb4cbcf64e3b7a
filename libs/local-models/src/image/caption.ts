// The prompt as a caption: white letters on a dark band at the foot of the picture.
import { GLYPH_HEIGHT, GLYPH_WIDTH, hasDot } from './bitmap-font.ts';
import type { Canvas } from './canvas.ts';
import { BLACK, WHITE } from './colours.ts';

/** The band takes no more of the picture's height than this. */
export const CAPTION_SHARE_MAX = 0.2;
const BAND_STRENGTH = 0.72;
/** A letter's dot is this share of the picture's width; small pictures have at least one pixel for it. */
const DOT_SHARE = 1 / 340;
const LINES_MAX = 3;
// In dots: between letters, lines, and around them.
const LETTER_WIDTH = GLYPH_WIDTH + 1;
const LINE_HEIGHT = GLYPH_HEIGHT + 3;
const MARGIN = 3;

/** Returns the height of the band in pixels; 0 where there is no room or nothing to say. */
export function drawCaption(canvas: Canvas, text: string): number {
  const dot = Math.max(1, Math.round(canvas.width * DOT_SHARE));
  const columns = Math.floor((canvas.width / dot - 2 * MARGIN) / LETTER_WIDTH);
  const room = Math.floor((canvas.height * CAPTION_SHARE_MAX) / dot - 2 * MARGIN + 3);
  const lines = toLines(toAscii(text), columns, Math.min(LINES_MAX, Math.floor(room / LINE_HEIGHT)));
  if (lines.length === 0) return 0;
  const bandHeight = (lines.length * LINE_HEIGHT - 3 + 2 * MARGIN) * dot;
  const top = canvas.height - bandHeight;
  canvas.fillRectangle(0, top, canvas.width, bandHeight, BLACK, BAND_STRENGTH);
  for (const [row, line] of lines.entries()) {
    const left = Math.floor((canvas.width - line.length * LETTER_WIDTH * dot) / 2);
    drawLine(canvas, line, left, top + (MARGIN + row * LINE_HEIGHT) * dot, dot);
  }
  return bandHeight;
}

function drawLine(canvas: Canvas, line: string, left: number, top: number, dot: number): void {
  for (const [index, character] of [...line].entries())
    for (let column = 0; column < GLYPH_WIDTH; column += 1)
      for (let row = 0; row < GLYPH_HEIGHT; row += 1)
        if (hasDot(character, column, row))
          canvas.fillRectangle(
            left + (index * LETTER_WIDTH + column) * dot,
            top + row * dot,
            dot,
            dot,
            WHITE,
          );
}

/** Broken between words; what does not fit ends in three dots. */
export function toLines(text: string, columns: number, linesMax: number): string[] {
  if (columns < 4 || linesMax < 1) return [];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').filter((one) => one !== '')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length <= columns) line = longer;
    else {
      if (line !== '') lines.push(line);
      line = word.slice(0, columns);
    }
    if (lines.length > linesMax) break;
  }
  if (line !== '') lines.push(line);
  if (lines.length <= linesMax) return lines;
  const last = lines[linesMax - 1] ?? '';
  return [...lines.slice(0, linesMax - 1), `${last.slice(0, columns - 3)}...`];
}

function toAscii(text: string): string {
  return text
    .slice(0, 1_000)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[’‘]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[–—]/g, '-')
    .replace(/\s+/g, ' ')
    .replace(/[^ -~]/gu, '?');
}
