// The init's socket on a busy machine, where the init is interrupted while it creates the socket.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { INIT_SOCKET } from '../docker/container-config.ts';
import { openControlSockets } from './control-sockets.ts';
import { INIT_SOURCE_DIRECTORY } from './init-binary.ts';
import { connectInit } from './init-client.ts';

const run = promisify(execFile);

/** Includes compiling the init. */
const TIMEOUT_MS = 120_000;
/** Between bind and listen the kernel has the socket and refuses connections: here for half a second. */
const SLOW_LISTEN = `
#include <unistd.h>
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog) { usleep(500000); return __real_listen(fd, backlog); }
`;

test(
  'a socket listens once it exists, however slow the init is',
  async () => {
    const folder = await temporaryFolder('init-socket');
    await writeFile(join(folder, 'slow-listen.c'), SLOW_LISTEN);
    const binary = join(folder, 'init');
    const sources = (await readdir(INIT_SOURCE_DIRECTORY)).filter((name) => name.endsWith('.c'));
    await run(
      'gcc',
      [
        '-static',
        '-Os',
        '-std=gnu17',
        '-Wl,--wrap=listen',
        '-o',
        binary,
        join(folder, 'slow-listen.c'),
        ...sources,
      ],
      { cwd: INIT_SOURCE_DIRECTORY },
    );

    const sockets = await openControlSockets(join(folder, 'control'));
    await sockets.create('slot');
    const init = spawn(binary, [join(sockets.directory('slot'), INIT_SOCKET)]);
    const ended = once(init, 'exit');
    try {
      const client = await connectInit(await sockets.take('slot'));
      expect(await client.execs()).toEqual([]);
      client.close();
    } finally {
      init.kill('SIGKILL');
      await ended;
    }
  },
  TIMEOUT_MS,
);
