// Runs one command in a running computer, and converts its result to the API's form.
import {
  COMMAND_TIMEOUT_S_DEFAULT,
  type ExecRequest,
  type ExecResult,
  invalidParam,
  outlivesCaller,
  ServiceError,
} from '@switchyard/contracts';
import type { ExecResult as RawResult } from '../computer/exec.ts';
import type { Run } from './run.ts';

/** Maximum output in an error, as JSON. An error crosses the bus in one message of at most 1 MiB. */
const ERROR_OUTPUT_BYTES_MAX = 512 * 1024;
const QUOTES_BYTES = 2;

/** @throws ServiceError `invalid_request` */
export function checkTimeout({ timeout }: ExecRequest, timeoutSMax: number): void {
  if (timeout === undefined || timeout <= timeoutSMax) return;
  throw invalidParam('timeout', `is over ${timeoutSMax} seconds`);
}

export interface CommandOptions {
  readonly execId: string;
  /** Aborted when the caller disconnects; ignored for a command that continues then. */
  readonly signal: AbortSignal;
  readonly outputBytesMax: number;
  /** Receives the output as in `ExecOptions.consume`; the result then has none. */
  readonly consume?: ((chunk: Buffer) => void | Promise<void>) | undefined;
  /** Returns only the result of a command begun earlier under this id; never runs it. */
  readonly resume?: boolean | undefined;
}

/** @throws ServiceError `command_timed_out`, `computer_failed`, `invalid_request`, `rate_limited` */
export async function runCommand(
  { container: { init }, recovered }: Pick<Run, 'container' | 'recovered'>,
  request: ExecRequest,
  { execId, signal, outputBytesMax, consume, resume = false }: CommandOptions,
): Promise<ExecResult> {
  const keep = outlivesCaller(request);
  const kill = keep ? undefined : signal;
  const known = recovered?.claim(execId, kill) ?? (resume ? init.attach(execId, { signal: kill }) : null);
  if (!known) kill?.throwIfAborted(); // the caller may have left while it waited for the computer
  const raw = await (known ??
    init.exec({
      id: execId,
      command: request.command,
      timeoutMs: timeoutOf(request) * 1_000,
      outputBytesMax,
      cwd: request.cwd,
      env: request.env,
      stdin: request.stdin === undefined ? undefined : Buffer.from(request.stdin),
      keep,
      consume,
      signal: kill,
    }));
  return toResult(raw, timeoutOf(request));
}

function timeoutOf({ timeout }: ExecRequest): number {
  return timeout ?? COMMAND_TIMEOUT_S_DEFAULT;
}

/**
 * @param timeoutS timeout of the command, if known
 * @throws ServiceError `command_timed_out`, `service_unavailable` if it was stopped with its caller
 */
export function toResult(raw: RawResult, timeoutS?: number): ExecResult {
  if (raw.timedOut) throw timedOut(raw, timeoutS ?? Math.floor(raw.durationMs / 1_000));
  if (raw.cancelled)
    throw new ServiceError('service_unavailable', 'the caller went away; the command was stopped');
  return {
    stdout: text(raw),
    stderr: '',
    exit_code: raw.exitCode,
    duration_ms: Math.round(raw.durationMs),
    ...(raw.truncated ? { truncated: true as const } : {}),
  };
}

function timedOut(raw: RawResult, timeoutS: number): ServiceError {
  // Every byte takes at least one byte as JSON, so decoding more is useless; decoding everything would take 0.1 s.
  const output = raw.output.subarray(0, ERROR_OUTPUT_BYTES_MAX - QUOTES_BYTES);
  const isCut = output.length < raw.output.length;
  const beginning = text({ output, truncated: raw.truncated || isCut });
  const stdout = fitting(beginning, ERROR_OUTPUT_BYTES_MAX);
  const truncated = raw.truncated || isCut || stdout.length < beginning.length;
  return new ServiceError('command_timed_out', `the command was stopped after ${timeoutS} seconds`, {
    details: { stdout, duration_ms: Math.round(raw.durationMs), ...(truncated ? { truncated } : {}) },
  });
}

/** Invalid UTF-8 becomes U+FFFD; a character cut by the cap is dropped. */
function text({ output, truncated }: Pick<RawResult, 'output' | 'truncated'>): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(output, { stream: truncated });
}

/** The longest prefix, by bisection, that fits as JSON. */
function fitting(text: string, bytesMax: number): string {
  let kept = text;
  while (Buffer.byteLength(JSON.stringify(kept)) > bytesMax) kept = kept.slice(0, kept.length >> 1);
  return kept;
}
