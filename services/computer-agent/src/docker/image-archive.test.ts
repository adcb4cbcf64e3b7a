// How the agent checks an image's layers in transit, without an engine or a registry.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { imageArchive } from './image-archive.ts';

/** CPU time of this process for the archive of an image with one layer. */
async function cpuMsOf(unpacked: string): Promise<number> {
  const content = gzipSync(unpacked);
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
  const layer = { digest, size: content.length };
  const begun = process.cpuUsage();
  const archive = imageArchive({
    registry: {
      async *layer() {
        yield content;
      },
    },
    image: { digest, config: layer, layers: [layer] },
    config: { bytes: Buffer.from('{}'), diffIds: [digest] },
    tag: 'test:1',
    gbMax: 1,
    reserveRoom: async () => {},
    onBytes: () => {},
  });
  for await (const _ of archive); // as the engine reads it
  return process.cpuUsage(begun).user / 1_000;
}

test('a layer made to look like the header of a sparse file costs no more than another', async () => {
  const almost = [`${'1'.repeat(16_000)}GNU.sparse.`, `1 GNU.sparse.${'a'.repeat(16_000)}`];
  for (const [at, text] of almost.entries()) {
    const usual = await cpuMsOf(text.replaceAll('GNU', 'gnu').repeat(60));
    expect(await cpuMsOf(text.repeat(60)), `text ${at}`).toBeLessThan(10 * usual + 500);
  }
});
