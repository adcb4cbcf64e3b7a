import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { STANDARD_IMAGE } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { docker } from './docker.ts';
import { importSmallImage } from './small-image.ts';
import { canStartTestEngine, startTestEngine } from './test-engine.ts';

const machine = await docker();
const usable = machine !== undefined && canStartTestEngine();

test.skipIf(!usable)(
  'a test engine runs containers unknown to the machine’s engine, and leaves nothing behind',
  async () => {
    const engine = await startTestEngine({ liveRestore: true });
    const folder = dirname(engine.address.slice('unix://'.length));
    try {
      await importSmallImage(engine.docker);
      const container = await engine.docker.createContainer({
        Image: STANDARD_IMAGE,
        Cmd: ['bash', '-c', 'ps -e | grep -q bash && seq 3 | awk "{ print \\$1 * 2 }" && exec sleep 1000'],
        Tty: true,
      });
      await container.start();
      const said = async () => (await container.logs({ stdout: true })).toString();
      await expect.poll(said).toBe('2\r\n4\r\n6\r\n');
      await expect(machine!.getContainer(container.id).inspect()).rejects.toMatchObject({ statusCode: 404 });
      await engine.kill9();
      await engine.restart();
      expect((await container.inspect()).State.Running).toBe(true);
    } finally {
      await engine.stop();
    }
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  },
  300_000,
);
