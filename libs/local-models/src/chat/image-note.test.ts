import { expect, it } from 'vitest';
import { describeImages, noteImage } from './image-note.ts';

it('notes the media type and size of a data URL, and opens no address', () => {
  const png = noteImage(`data:image/png;base64,${Buffer.alloc(12 * 1024).toString('base64')}`);
  expect(describeImages([png])).toBe('one image: 12 KB image/png');
  const address = noteImage('https://example.com/a.png');
  expect(describeImages([png, address])).toBe(
    '2 images: 12 KB image/png; by its address, which I do not open',
  );
  expect(noteImage('data:,')).toBe('0 bytes of unknown format');
});
