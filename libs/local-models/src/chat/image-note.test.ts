import { describe, expect, it } from 'vitest';
import { describeImages, noteImage } from './image-note.ts';

function png(width: number, height: number, bytes: number): Buffer {
  const file = Buffer.alloc(bytes);
  file.write('\x89PNG\r\n\x1a\n', 'latin1');
  file.writeUInt32BE(width, 16);
  file.writeUInt32BE(height, 20);
  return file;
}

const dataUrl = (file: Buffer, type: string) => `data:${type};base64,${file.toString('base64')}`;

describe('noteImage', () => {
  it('reads the size of a PNG from its header', () => {
    const note = noteImage(dataUrl(png(64, 48, 12 * 1024), 'image/png'));
    expect(note).toEqual({ format: 'PNG', bytes: 12 * 1024, width: 64, height: 48, remote: false });
    expect(describeImages([note])).toBe('one image: 12 KB PNG, 64×48');
  });

  it('reads GIF, WebP and JPEG, and believes the bytes rather than the label', () => {
    const gif = Buffer.from('GIF89a\x20\x00\x10\x00', 'latin1');
    expect(noteImage(dataUrl(gif, 'image/png'))).toMatchObject({ format: 'GIF', width: 32, height: 16 });
    const webp = Buffer.alloc(30);
    webp.write('RIFF____WEBPVP8X', 'latin1');
    webp.writeUIntLE(799, 24, 3);
    webp.writeUIntLE(599, 27, 3);
    expect(noteImage(dataUrl(webp, 'image/webp'))).toMatchObject({ format: 'WebP', width: 800, height: 600 });
    const jpeg = Buffer.from('ffd8ffe000040000ffc0000b080168028001011100', 'hex');
    expect(noteImage(dataUrl(jpeg, 'image/jpeg'))).toMatchObject({ format: 'JPEG', width: 640, height: 360 });
  });

  it('opens no address, and makes nothing of what is no image', () => {
    expect(describeImages([noteImage('https://example.com/a.png')])).toContain('which I do not open');
    expect(noteImage(dataUrl(Buffer.from('hello'), 'image/png'))).toMatchObject({
      format: 'image/png',
      width: null,
    });
    expect(noteImage('data:,')).toMatchObject({ bytes: 0, width: null });
  });
});
