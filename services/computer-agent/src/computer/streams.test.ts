// Connections to ports of a computer, and terminals in it. One computer serves all tests: after each of them it must
// still work, with nothing left of the streams.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Container } from './container.ts';
import type { TerminalSize } from './init-frames.ts';
import { type InitStream, STREAM_CREDIT_BYTES } from './init-stream.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const MANY_BYTES = 24 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const ECHO_PORT = 7001;
/** Reads nothing until a file `read` is there. */
const SLOW_PORT = 7003;
/** Sends the number of received bytes once its input ends. */
const COUNT_PORT = 7004;
const SIZE = { columns: 80, rows: 24 };

/** Servers as a renter would write them, on localhost only. */
const SERVERS = `
const net = require('node:net'), fs = require('node:fs');
net.createServer((s) => { s.on('error', () => {}); s.pipe(s); }).listen(${ECHO_PORT}, '127.0.0.1');
net.createServer((s) => {
  s.pause(); s.on('error', () => {});
  const timer = setInterval(() => { if (fs.existsSync('read')) { clearInterval(timer); s.pipe(s); } }, 20);
}).listen(${SLOW_PORT}, '127.0.0.1');
net.createServer({ allowHalfOpen: true }, (s) => {
  let bytes = 0;
  s.on('data', (chunk) => { bytes += chunk.length; });
  s.on('end', () => s.end('got ' + bytes));
}).listen(${COUNT_PORT}, '127.0.0.1', () => fs.writeFileSync('ready', ''));
`;

let testHost: TestHost;
let computer: Container;
const never = new AbortController().signal;

const shell = async (command: string) => (await run(computer, command)).output.toString().trim();

beforeAll(async () => {
  testHost = await openTestHost();
  ({ computer } = await testHost.createComputer());
  await run(
    computer,
    'cat > servers.cjs; (node servers.cjs > log 2>&1 &) ; until [ -e ready ]; do sleep 0.02; done',
    {
      stdin: Buffer.from(SERVERS),
    },
  );
}, SETUP_TIMEOUT_MS);

afterAll(() => testHost?.close());

/** Opened by a test and not closed by it. */
const opened: Duplex[] = [];

async function openPort(port: number, signal: AbortSignal): Promise<Duplex> {
  const stream = await computer.init.openStream({ kind: 'port', port }, signal);
  opened.push(stream);
  return stream;
}

async function openTerminal(size: TerminalSize, signal: AbortSignal): Promise<InitStream> {
  const terminal = await computer.init.openStream({ kind: 'terminal', ...size }, signal);
  opened.push(terminal);
  return terminal;
}

afterEach(async () => {
  for (const stream of opened.splice(0)) stream.destroy();
  await run(computer, 'rm -f read');
  await expect.poll(() => shell('ps -eo args | grep -c "^-bash" || true')).toBe('0');
  expect(await computer.init.execs()).toEqual([]);
});

async function readAll(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Writes these bytes at the stream's pace and ends it. @returns their digest */
async function writeMany(stream: Duplex, bytes: number): Promise<string> {
  const digest = createHash('sha256');
  for (let left = bytes; left > 0; left -= CHUNK_BYTES) {
    const chunk = randomBytes(Math.min(left, CHUNK_BYTES));
    digest.update(chunk);
    if (!stream.write(chunk)) await once(stream, 'drain');
  }
  stream.end();
  return digest.digest('hex');
}

/** Resolves once the terminal has shown this text. */
function shown(terminal: Duplex): { until(text: string | RegExp): Promise<string>; all(): string } {
  let all = '';
  terminal.on('data', (bytes: Buffer) => {
    all += bytes.toString();
  });
  return {
    all: () => all,
    async until(text) {
      const isThere = () => (typeof text === 'string' ? all.includes(text) : text.test(all));
      while (!isThere()) await Promise.race([once(terminal, 'data'), once(terminal, 'close')]);
      return all;
    },
  };
}

describe('a port', () => {
  test('passes megabytes both ways at once, unchanged', async () => {
    const stream = await openPort(ECHO_PORT, never);
    const came = createHash('sha256');
    const reading = (async () => {
      for await (const chunk of stream) came.update(chunk);
    })();
    const sent = await writeMany(stream, MANY_BYTES);
    await reading;
    expect(came.digest('hex')).toBe(sent);
  });

  test('stops its server while no client reads, and loses nothing', async () => {
    const stream = await openPort(ECHO_PORT, never);
    const sending = writeMany(stream, MANY_BYTES);
    await expect.poll(() => stream.writableNeedDrain).toBe(true);
    expect(stream.readableLength).toBeLessThanOrEqual(STREAM_CREDIT_BYTES + 2 * stream.readableHighWaterMark);
    const came = createHash('sha256').update(await readAll(stream));
    expect(came.digest('hex')).toBe(await sending);
  });

  test('whose server reads nothing stops its sender, and loses nothing', async () => {
    const stream = await openPort(SLOW_PORT, never);
    const sending = writeMany(stream, MANY_BYTES);
    await expect.poll(() => stream.writableNeedDrain).toBe(true);
    const reading = readAll(stream);
    await run(computer, 'touch read');
    expect(
      createHash('sha256')
        .update(await reading)
        .digest('hex'),
    ).toBe(await sending);
  });

  test('answers after its sender has ended its half', async () => {
    const stream = await openPort(COUNT_PORT, never);
    await writeMany(stream, MANY_BYTES);
    expect((await readAll(stream)).toString()).toBe(`got ${MANY_BYTES}`);
  });

  test('without a listener is refused, and the computer is unaffected', async () => {
    await expect(openPort(9, never)).rejects.toMatchObject({
      code: 'port_unreachable',
      details: { reason: 'refused' },
    });
    expect(await shell('echo well')).toBe('well');
  });

  test('whose server is killed fails at once, and never ends regularly', async () => {
    const port = 7010;
    const server = `require('node:net').createServer((s) => s.write('begun')).listen(${port}, () => console.log('up'))`;
    const up = Promise.withResolvers<void>();
    const serving = run(computer, `exec node -e "${server}"`, { id: 'doomed', consume: () => up.resolve() });
    await up.promise;
    const stream = await openPort(port, never);
    const [first] = (await once(stream, 'data')) as [Buffer];
    expect(first.toString()).toBe('begun');
    stream.write(randomBytes(16)); // unread, so its death resets the connection
    const outcome = readAll(stream).catch((error: unknown) => error);
    await run(computer, 'pkill -9 -f "[s]7010|createServer"');
    expect((await serving).exitCode).toBe(128 + 9);
    const end = await outcome;
    expect(end instanceof Buffer ? end.length : end).toEqual(expect.anything());
    await expect(openPort(port, never)).rejects.toMatchObject({ code: 'port_unreachable' });
  });

  test('is reset by its signal: the server sees an error, not an end', async () => {
    const port = 7011;
    const server = `require('node:net').createServer((s) => { s.on('data', () => console.log('in')); s.on('error', (e) => { console.log(e.code); process.exit(); }); s.on('end', () => { console.log('end'); process.exit(); }); }).listen(${port}, () => console.log('up'))`;
    let output = '';
    const heard = Promise.withResolvers<void>();
    const up = Promise.withResolvers<void>();
    const serving = run(computer, `exec node -e "${server}"`, {
      consume: (bytes) => {
        output += bytes;
        if (output.includes('up')) up.resolve();
        if (output.includes('in')) heard.resolve();
      },
    });
    await up.promise;
    const gone = new AbortController();
    const stream = await openPort(port, gone.signal);
    stream.write('a beginning');
    await heard.promise;
    gone.abort(new Error('the caller went away'));
    await serving;
    expect(output).toBe('up\nin\nECONNRESET\n');
  });

  test('may be open fifty times at once, and a stalled one does not block the others', async () => {
    const still = await openPort(ECHO_PORT, never);
    const stalled = writeMany(still, 8 * 1024 * 1024);
    const digests = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const stream = await openPort(ECHO_PORT, never);
        const reading = readAll(stream);
        const sent = await writeMany(stream, 512 * 1024);
        return [
          sent,
          createHash('sha256')
            .update(await reading)
            .digest('hex'),
        ];
      }),
    );
    for (const [sent, came] of digests) expect(came).toBe(sent);
    expect((await readAll(still)).length).toBe(8 * 1024 * 1024);
    await stalled;
  });

  test('over the limit is refused with a code, and open ones go on', async () => {
    const open = await Promise.all(Array.from({ length: 128 }, () => openPort(ECHO_PORT, never)));
    await expect(openPort(ECHO_PORT, never)).rejects.toMatchObject({ code: 'rate_limited' });
    const [first] = open;
    first?.write('still there');
    expect(String((await once(first as Duplex, 'data'))[0])).toBe('still there');
    for (const stream of open) stream.destroy();
    await openPort(ECHO_PORT, never);
  });

  test('leaves no connection behind', async () => {
    const established = () =>
      shell(`ss -tn state established '( sport = :${ECHO_PORT} )' | tail -n +2 | wc -l`);
    await expect.poll(established).toBe('0');
  });
});

describe('a terminal', () => {
  test('is a login shell in /workspace with the requested size, and can be resized', async () => {
    const terminal = await openTerminal({ columns: 101, rows: 37 }, never);
    const screen = shown(terminal);
    terminal.write('pwd; tty; stty size; shopt -q login_shell && echo is-login; echo $TERM\r');
    await screen.until('xterm-256color\r\n');
    expect(screen.all()).toMatch(/\r\/workspace\r\n\/dev\/pts\/\d+\r\n37 101\r\nis-login\r\n/);
    terminal.resize({ columns: 132, rows: 50 });
    terminal.write('stty size\r');
    await screen.until('50 132\r\n');
    terminal.write('exit\r');
    expect(await terminal.exitCode).toBe(0);
  });

  test('tells a running program of its new size', async () => {
    const terminal = await openTerminal(SIZE, never);
    const screen = shown(terminal);
    const program =
      "import os, signal; new_size = {signal.SIGWINCH}; signal.pthread_sigmask(signal.SIG_BLOCK, new_size); print('re' + 'ady', flush=True); signal.sigwait(new_size); print('now', *os.get_terminal_size(), flush=True)";
    terminal.write(`python3 -c "${program}"\r`);
    await screen.until('ready\r\n');
    terminal.resize({ columns: 90, rows: 30 });
    await screen.until('now 90 30');
    terminal.destroy();
  });

  test('takes Ctrl-C, and reports its shell’s exit code after the last output', async () => {
    const terminal = await openTerminal(SIZE, never);
    const screen = shown(terminal);
    // Printed by the program itself, which by then has the terminal: an earlier interrupt reaches the shell.
    terminal.write('sh -c \'echo be""gun; exec sleep 1000\'\r');
    await screen.until('begun\r\n');
    terminal.write('\u0003');
    await screen.until(/\^C[\s\S]*[#$] $/); // the interrupt discards input typed before the prompt
    terminal.write('echo code $?; seq 2000; exit 7\r');
    expect(await terminal.exitCode).toBe(7);
    if (!terminal.readableEnded) await once(terminal, 'end');
    expect(screen.all()).toContain('code 130\r\n');
    expect(screen.all()).toMatch(/\r\n1999\r\n2000\r\n/);
  });

  test('that is closed kills everything started in it, however it hides', async () => {
    const terminal = await openTerminal(SIZE, never);
    const screen = shown(terminal);
    terminal.write(
      "trap '' TERM HUP; setsid sleep 7777 & (sleep 7777 &) ; nohup sleep 7777 & echo sta''rted\r",
    );
    await screen.until('started\r\n');
    // The shell goes on before its child has become the program.
    const hidden = () => shell('pgrep -fc "[s]leep 7777" || true');
    await expect.poll(async () => Number(await hidden())).toBeGreaterThanOrEqual(3);
    terminal.destroy();
    await expect.poll(hidden).toBe('0');
  });

  test('whose shell exits ends what it left running', async () => {
    const terminal = await openTerminal(SIZE, never);
    terminal.resume();
    terminal.write('nohup setsid sleep 6666 > /dev/null 2>&1 & exit 3\r');
    expect(await terminal.exitCode).toBe(3);
    expect(await shell('pgrep -fc "[s]leep 6666" || true')).toBe('0');
  });

  test('that floods is blocked while no client reads, and still takes Ctrl-C', async () => {
    const terminal = await openTerminal(SIZE, never);
    terminal.write('yes\r');
    await expect.poll(() => terminal.readableLength).toBeGreaterThan(STREAM_CREDIT_BYTES / 2);
    expect(terminal.readableLength).toBeLessThanOrEqual(
      STREAM_CREDIT_BYTES + 2 * terminal.readableHighWaterMark,
    );
    terminal.write('\u0003');
    const screen = shown(terminal);
    await screen.until('y\r\n');
    await screen.until(/[#$] $/); // the interrupt discards input typed before the prompt
    terminal.write('exit 5\r');
    expect(await terminal.exitCode).toBe(5);
  });

  test('ends with its computer', async () => {
    const { computer: other } = await testHost.createComputer();
    const terminals = [
      await other.init.openStream({ kind: 'terminal', ...SIZE }, never),
      await other.init.openStream({ kind: 'terminal', ...SIZE }, never),
    ];
    // A shell at its prompt ignores the SIGTERM of the stop; before its prompt it would end with 143.
    for (const terminal of terminals) await shown(terminal).until(/[#$] $/);
    await other.stop();
    for (const terminal of terminals) {
      await expect(terminal.exitCode).rejects.toMatchObject({ code: 'computer_failed' });
    }
  });
});

test('streams of an agent that is gone end, with their processes', async () => {
  const second = await testHost.connect(computer);
  const terminal = await second.init.openStream({ kind: 'terminal', ...SIZE }, never);
  const screen = shown(terminal);
  terminal.write("setsid sleep 5555 & echo sta''rted\r");
  await screen.until('started\r\n');
  second.release();
  await expect.poll(() => shell('pgrep -fc "[s]leep 5555" || true')).toBe('0');
});
