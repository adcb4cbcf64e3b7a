// Builds the standard computer image from the command line: `node infra/sandbox-computer/src/main.ts`.
import Docker from 'dockerode';
import { ensureImage, IMAGE } from './ensure-image.ts';

const CLEAR_LINE = '\r\u001b[K';

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
process.once('SIGTERM', () => interrupted.abort(new Error('interrupted')));

const onTerminal = process.stderr.isTTY;
try {
  const { built } = await ensureImage({
    docker: new Docker(),
    signal: interrupted.signal,
    onProgress: (message) => process.stderr.write(onTerminal ? `${CLEAR_LINE}${message}` : `${message}\n`),
  });
  if (onTerminal) process.stderr.write(CLEAR_LINE);
  console.log(`${IMAGE} ${built ? 'was built' : 'is there already'}`);
} catch (error) {
  console.error(`${onTerminal ? '\n' : ''}${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
