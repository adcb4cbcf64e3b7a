import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const STAND_BY = join(import.meta.dirname, 'stand-by.ts');
/** Says what it does. */
const PROGRAM = `
  import { untilNeeded } from ${JSON.stringify(STAND_BY)};
  console.log('waits');
  await untilNeeded();
  console.log('serves, ' + process.env.SWITCHYARD_STAND_BY);
`;

interface Started {
  readonly process: ChildProcess;
  /** Resolves with the next line that it says, undefined at its end. */
  line(): Promise<string | undefined>;
}

function start(env: NodeJS.ProcessEnv, channel: 'ipc' | 'ignore'): Started {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', channel],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = child.stdout!.setEncoding('utf8').iterator();
  const said: string[] = [];
  return {
    process: child,
    async line() {
      while (said.length === 0) {
        const { done, value } = await lines.next();
        if (done) return undefined;
        said.push(...String(value).trimEnd().split('\n'));
      }
      return said.shift();
    },
  };
}

test('a process serves at once, unless it was started to stand by', async () => {
  const { line } = start({}, 'ipc');
  expect([await line(), await line()]).toEqual(['waits', 'serves, undefined']);
});

test('one that stands by serves when it is told to, also before it listened', async () => {
  const { process: child, line } = start({ SWITCHYARD_STAND_BY: '1' }, 'ipc');
  expect(await line()).toBe('waits');
  child.send({ type: 'serve' });
  expect(await line()).toBe('serves, undefined');
  const early = start({ SWITCHYARD_STAND_BY: '1' }, 'ipc');
  early.process.send({ type: 'serve' });
  expect([await early.line(), await early.line()]).toEqual(['waits', 'serves, undefined']);
});

test('one that stands by ends, and never serves, when the one that started it is gone', async () => {
  const { process: child, line } = start({ SWITCHYARD_STAND_BY: '1' }, 'ipc');
  expect(await line()).toBe('waits');
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(await line()).toBeUndefined();
  const alone = start({ SWITCHYARD_STAND_BY: '1' }, 'ignore');
  expect([await alone.line(), await alone.line()]).toEqual(['waits', undefined]);
});
