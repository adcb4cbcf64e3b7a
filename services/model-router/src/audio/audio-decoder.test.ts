// Decodes with ffmpeg, as the router does.
import { type ChildProcess, execFileSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { systemClock } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { expect, test, vi } from 'vitest';
import { AudioDecoder } from './audio-decoder.ts';

const { signal } = new AbortController();
const of = (org: string) => ({ org, signal });
const SECONDS = 600;
const AUDIO = execFileSync(
  'ffmpeg',
  ['-v', 'error', '-f', 'lavfi', '-i', `anullsrc=r=8000:cl=mono:d=${SECONDS}`, '-f', 'au', 'pipe:1'],
  { maxBuffer: 64 * 1024 * 1024 },
);

test('two files are decoded at once, and others wait', async () => {
  const decoder = new AudioDecoder(systemClock);
  let running = 0;
  let most = 0;
  const count = (message: unknown) => {
    most = Math.max(most, ++running);
    (message as { process: ChildProcess }).process.once('close', () => running--);
  };
  subscribe('child_process', count);
  try {
    const measured = await Promise.all(
      Array.from({ length: 10 }, (_, at) => decoder.measure(AUDIO, of(`org_${at}`))),
    );
    expect(measured).toEqual(Array(10).fill(SECONDS));
  } finally {
    unsubscribe('child_process', count);
  }
  expect(most).toBe(2);
});

test('files of one org are decoded one after the other, and leave a place for other orgs', async () => {
  const decoder = new AudioDecoder(systemClock);
  const measured: string[] = [];
  const measure = async (org: string) => {
    await decoder.measure(AUDIO, of(org));
    measured.push(org);
  };
  const stopped = Promise.withResolvers<ChildProcess>();
  // It cannot have ended: it decodes more than its pipe holds.
  const stop = (message: unknown) => {
    const { process: child } = message as { process: ChildProcess };
    child.once('spawn', () => {
      child.kill('SIGSTOP');
      stopped.resolve(child);
    });
  };
  subscribe('child_process', stop);
  const first = measure('org_a');
  const child = await stopped.promise;
  unsubscribe('child_process', stop);
  try {
    const others = ['org_a', 'org_a'].map(measure);
    await measure('org_b');
    expect(measured).toEqual(['org_b']);
    child.kill('SIGCONT');
    await Promise.all([first, ...others]);
  } finally {
    child.kill('SIGKILL');
  }
});

test('a file that waits too long for others is refused, and can be sent again', async () => {
  const clock = new FakeClock();
  const decoder = new AudioDecoder(clock);
  const first = [decoder.measure(AUDIO, of('org_a')), decoder.measure(AUDIO, of('org_b'))];
  const third = decoder.measure(AUDIO, of('org_c'));
  clock.advance(120_000);
  await expect(third).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 10 });
  expect(await Promise.all(first)).toEqual([SECONDS, SECONDS]);
});

test('a file that cannot be stored is refused, and can be sent again', async () => {
  vi.stubEnv('TMPDIR', '/does/not/exist');
  try {
    await expect(new AudioDecoder(systemClock).measure(AUDIO, of('org_a'))).rejects.toMatchObject({
      code: 'service_unavailable',
    });
  } finally {
    vi.unstubAllEnvs();
  }
});
