// For tests: a machine behind the host that computers must not reach, with a metadata service as clouds have one. It
// is real and lives in a network name space; needs root.
import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { killedWithParent } from '@switchyard/testing';

const run = promisify(execFile);

export interface NetworkBehind {
  readonly port: number;
  /** Port of a mail server, which answers like the other one. */
  readonly smtpPort: number;
  readonly addresses: readonly string[];
  close(): Promise<void>;
}

const PORT = 8_080;
const SMTP_PORT = 25;
/** `GET /<n>`: n bytes. `POST`: takes all that comes. */
const SERVER = `
const { createServer } = require('node:http');
const serve = (request, answer) => request.resume().once('end', () => {
  const bytes = Number(request.url.slice(1));
  answer.end(bytes > 0 ? Buffer.alloc(bytes) : 'of the network behind');
});
createServer(serve).listen(${SMTP_PORT}, '0.0.0.0', () =>
  createServer(serve).listen(${PORT}, '0.0.0.0', () => console.log('up')))`;

/**
 * A web server on each of the addresses, with its own veth pair from the host. The name space lives as long as the
 * server process; the pair and the host's routes go with it, also when a test run is killed. If several exist, the
 * last one answers the host.
 */
export async function networkBehind(addresses: readonly string[]): Promise<NetworkBehind> {
  const wire = `bh${randomBytes(4).toString('hex')}`;
  const [ours, theirs] = addressPair();
  const [command, ...args] = killedWithParent('SIGKILL', 'unshare', ['--net', process.execPath, '-e', SERVER]);
  const server = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const close = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
    // The kernel removes a name space asynchronously.
    await run('ip', ['link', 'del', wire]).catch(() => {});
  };
  try {
    const died = once(server, 'exit').then(() => {
      throw new Error('the server behind the host exited while starting');
    });
    await Promise.race([once(server.stdout, 'data'), died]);
    const pid = String(server.pid);
    await run('ip', ['link', 'add', wire, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pid]);
    await run('ip', ['addr', 'add', `${ours}/30`, 'dev', wire]);
    await run('ip', ['link', 'set', wire, 'up']);
    const inside = (...words: string[]) => run('nsenter', ['--net', '--target', pid, 'ip', ...words]);
    await inside('addr', 'add', `${theirs}/30`, 'dev', 'eth0');
    await inside('link', 'set', 'eth0', 'up');
    await inside('link', 'set', 'lo', 'up');
    await inside('route', 'add', 'default', 'via', ours);
    for (const address of addresses) {
      await inside('addr', 'add', `${address}/32`, 'dev', 'lo');
      await run('ip', ['route', 'prepend', `${address}/32`, 'via', theirs, 'dev', wire]);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { port: PORT, smtpPort: SMTP_PORT, addresses, close };
}

/** Addresses for a veth pair, from the network reserved for benchmarks (RFC 2544), which is not routed. */
function addressPair(): [string, string] {
  const start = `198.19.${randomInt(256)}.`;
  const last = randomInt(64) * 4;
  return [`${start}${last + 1}`, `${start}${last + 2}`];
}
