// A machine behind the host that a computer must not reach, with a metadata service as clouds have one: real, in a network
// name space. For tests; needs root.
import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { dyingWithUs } from '@switchyard/testing';

const run = promisify(execFile);

export interface NetworkBehind {
  readonly port: number;
  readonly addresses: readonly string[];
  close(): Promise<void>;
}

const PORT = 8_080;
const SERVER = `
require('node:http').createServer((_, answer) => answer.end('of the network behind'))
  .listen(${PORT}, '0.0.0.0', () => console.log('up'))`;

/**
 * A web server on each of the addresses, on a wire of its own from the host. The server alone holds the name space: with
 * it go the wire and the host's routes over it, also where a test run is killed. Several may stand beside each other:
 * the last of them answers the host then.
 */
export async function networkBehind(addresses: readonly string[]): Promise<NetworkBehind> {
  const wire = `bh${randomBytes(4).toString('hex')}`;
  const [ours, theirs] = addressPair();
  const [command, ...args] = dyingWithUs('SIGKILL', 'unshare', ['--net', process.execPath, '-e', SERVER]);
  const server = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const close = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
    // The kernel takes a name space away when it comes to it.
    await run('ip', ['link', 'del', wire]).catch(() => {});
  };
  try {
    const died = once(server, 'exit').then(() => {
      throw new Error('the server behind the host died at its start');
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
  return { port: PORT, addresses, close };
}

/** The two ends of a wire, of the networks for measuring (RFC 2544), which nobody routes. */
function addressPair(): [string, string] {
  const start = `198.19.${randomInt(256)}.`;
  const last = randomInt(64) * 4;
  return [`${start}${last + 1}`, `${start}${last + 2}`];
}
