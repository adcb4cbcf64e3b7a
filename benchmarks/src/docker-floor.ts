// The cost of the same operations with plain dockerode, as in most sandboxes: the floor of the comparison.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { STANDARD_IMAGE } from '@switchyard/contracts';
import type { TestStack } from '@switchyard/testing';
import Docker from 'dockerode';
import { request } from './stack-requests.ts';

const LOOK_AGAIN_MS = 100;
const POOL_WAIT_MS_MAX = 120_000;

export class DockerFloor {
  readonly #engine = new Docker();

  async create(): Promise<string> {
    const container = await this.#engine.createContainer({
      Image: STANDARD_IMAGE,
      Entrypoint: ['sleep', 'infinity'],
      Labels: { 'switchyard.benchmark': 'floor' },
      HostConfig: { NetworkMode: 'bridge' },
    });
    await container.start();
    return container.id;
  }

  /** Runs `true` and waits for its exit code. */
  async exec(container: string): Promise<void> {
    const exec = await this.#engine
      .getContainer(container)
      .exec({ Cmd: ['bash', '-c', 'true'], AttachStdout: true, AttachStderr: true });
    const stream = await exec.start({});
    stream.resume();
    await new Promise((resolve) => stream.once('end', resolve));
    const { ExitCode } = await exec.inspect();
    if (ExitCode !== 0) throw new Error(`true ended with ${ExitCode}`);
  }

  async remove(container: string): Promise<void> {
    await this.#engine.getContainer(container).remove({ force: true, v: true });
  }
}

/** Resolves when this many unclaimed containers of the stack's agent run. */
export async function waitingContainers(stack: TestStack, wanted: number): Promise<void> {
  const folder = join(stack.dataFolder, 'hosts', 'computer-agent');
  const agent = (await readFile(join(folder, 'host-id'), 'utf8')).trim();
  const engine = new Docker();
  const giveUpAt = performance.now() + POOL_WAIT_MS_MAX;
  for (;;) {
    const running = await engine.listContainers({
      filters: { label: [`switchyard.agent=${agent}`], status: ['running'] },
    });
    const answer = await request(stack, '/v1/computers');
    const { data } = (await answer.json()) as { data: { status: string }[] };
    if (running.length - data.filter(({ status }) => status === 'running').length >= wanted) return;
    if (performance.now() > giveUpAt) throw new Error(`the pool did not reach ${wanted} containers`);
    await delay(LOOK_AGAIN_MS);
  }
}
