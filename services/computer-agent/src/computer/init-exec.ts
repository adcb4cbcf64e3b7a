// One exec on a connection to an init: starts it or attaches to it, and collects output until its end.
import { ServiceError } from '@switchyard/contracts';
import { type AttachOptions, type ExecOptions, type ExecResult, STREAM_WINDOW_BYTES } from './exec.ts';
import type { InitConnection } from './init-connection.ts';
import {
  decodeEnd,
  decodeFailure,
  EXEC_ID_BYTES_MAX,
  encodeStart,
  encodeUint32,
  FRAME_PAYLOAD_BYTES_MAX,
} from './init-frames.ts';

/** Time that the init may need, beyond a command's timeout, to kill a tree that resists. */
const KILL_GRACE_MS = 20_000;
/**
 * The same for a stream, counted from its last output, because its end is reported only after the output was
 * consumed.
 */
const STREAM_GRACE_MS = 120_000;

export interface FirstFrame {
  /** `E` starts an exec, `A` attaches to one. */
  readonly type: 'E' | 'A';
  readonly payload: Buffer;
}

/**
 * The frame that starts an exec. The init closes the connection on an id or a frame that is too long, which would look
 * like the computer's end.
 * @throws ServiceError `invalid_request`
 */
export function startFrame(options: ExecOptions): FirstFrame {
  const { id } = options;
  if (id.length === 0 || Buffer.byteLength(id) > EXEC_ID_BYTES_MAX || id.includes('\0'))
    throw new TypeError(`not the id of an exec: ${id}`);
  const payload = encodeStart(options);
  if (payload.length > FRAME_PAYLOAD_BYTES_MAX)
    throw new ServiceError('invalid_request', 'command and environment together are too big', {
      param: 'env',
    });
  return { type: 'E', payload };
}

/** @throws ServiceError `invalid_request`, `rate_limited`, `computer_failed` */
export async function followExec(
  connection: InitConnection,
  { type, payload }: FirstFrame,
  timeoutMs: number,
  { consume, signal }: AttachOptions & Pick<ExecOptions, 'consume'>,
): Promise<ExecResult> {
  const result = Promise.withResolvers<ExecResult>();
  const output: Buffer[] = [];
  const channel = connection.openChannel({
    onFrame({ type, payload }) {
      if (type === 'O') {
        if (consume) overdue.refresh();
        take(Buffer.from(payload));
      } else if (type === 'X') {
        result.resolve({ ...decodeEnd(payload), output: joined(output) });
      } else if (type === 'F') {
        result.reject(failureOf(decodeFailure(payload)));
      }
    },
    onLost: result.reject,
  });
  const grant = (bytes: number) => channel.send('W', encodeUint32(bytes));
  const take = consume ? withCredit(consume, grant) : (chunk: Buffer) => void output.push(chunk);
  const cancel = () => channel.send('K');
  const overdue = setTimeout(
    () => {
      const message = 'the computer did not report the end of the command';
      result.reject(new ServiceError('computer_failed', message));
    },
    timeoutMs + (consume ? STREAM_GRACE_MS : KILL_GRACE_MS),
  );
  try {
    channel.send(type, payload);
    if (consume) grant(STREAM_WINDOW_BYTES);
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    return await result.promise;
  } finally {
    clearTimeout(overdue);
    signal?.removeEventListener('abort', cancel);
    channel.close();
    channel.send('R');
  }
}

/** Passes output on, and grants new credit for consumed output in steps of half a window. */
function withCredit(
  consume: (chunk: Buffer) => void | Promise<void>,
  grant: (bytes: number) => void,
): (chunk: Buffer) => void {
  let consumedBytes = 0;
  const onConsumed = (bytes: number) => {
    consumedBytes += bytes;
    if (consumedBytes < STREAM_WINDOW_BYTES / 2) return;
    grant(consumedBytes);
    consumedBytes = 0;
  };
  return (chunk) => {
    const consuming = consume(chunk);
    if (consuming) void consuming.then(() => onConsumed(chunk.length));
    else onConsumed(chunk.length);
  };
}

function joined(chunks: Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only ? only : Buffer.concat(chunks);
}

/** Request parameter at fault for each failure caused by the caller; other failures are the computer's. */
const BLAMED_PARAMS: Readonly<Record<string, string>> = { bad_cwd: 'cwd', too_big: 'env' };

function failureOf({ code, message }: { code: string; message: string }): ServiceError {
  const param = BLAMED_PARAMS[code];
  if (param) return new ServiceError('invalid_request', message, { param });
  const details = { reason: code };
  if (code === 'too_many_execs')
    return new ServiceError('rate_limited', message, { details, retryAfterS: 1 });
  return new ServiceError('computer_failed', message, { details });
}
