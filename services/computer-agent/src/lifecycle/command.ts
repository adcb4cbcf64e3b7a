// One command in a running computer: checked, run, and its result put into the words of the interface.
import {
  COMMAND_BYTES_MAX,
  COMMAND_TIMEOUT_S_DEFAULT,
  ENV_ENTRIES_MAX,
  type ExecRequest,
  type ExecResult,
  outlivesCaller,
  ServiceError,
  STDIN_BYTES_MAX,
} from '@switchyard/contracts';
import type { RunningComputer } from '../computer/computer-host.ts';
import type { ExecResult as RawResult } from '../computer/exec.ts';
import type { RecoveredExecs } from './recovered-execs.ts';

/** An error crosses the bus in one message of at most 1 MiB: so much of the output may stand in it, as JSON. */
const ERROR_OUTPUT_BYTES_MAX = 512 * 1024;
const QUOTES_BYTES = 2;

/** @throws ServiceError `invalid_request` naming the field. */
export function checkCommand(request: ExecRequest, timeoutSMax: number): void {
  const refuse = (param: string, message: string) => {
    throw new ServiceError('invalid_request', `${param}: ${message}`, { param });
  };
  const { command, timeout, cwd, env, stdin } = request;
  if (Buffer.byteLength(command) > COMMAND_BYTES_MAX)
    refuse('command', `is over ${COMMAND_BYTES_MAX} bytes (64 KB)`);
  if (command.includes('\0')) refuse('command', 'holds a NUL character');
  if (timeout !== undefined && timeout > timeoutSMax) refuse('timeout', `is over ${timeoutSMax} seconds`);
  if (cwd?.includes('\0')) refuse('cwd', 'holds a NUL character');
  const entries = Object.entries(env ?? {});
  if (entries.length > ENV_ENTRIES_MAX) refuse('env', `has over ${ENV_ENTRIES_MAX} entries`);
  if (entries.some(([, value]) => value.includes('\0'))) refuse('env', 'holds a NUL character');
  if (stdin !== undefined && Buffer.byteLength(stdin) > STDIN_BYTES_MAX)
    refuse('stdin', `is over ${STDIN_BYTES_MAX} bytes`);
}

export interface CommandPlace {
  readonly computer: RunningComputer;
  readonly recovered: RecoveredExecs | null;
  readonly outputBytesMax: number;
}

export interface CommandWishes {
  /** Takes the output as it comes, as `ExecOptions.consume`; the result has none then. */
  readonly consume?: ((chunk: Buffer) => void | Promise<void>) | undefined;
  /** It was begun before under this id: only its result is wanted, and it is never run. */
  readonly resume?: boolean | undefined;
}

/**
 * @param signal aborted when the caller goes away; ignored for a command that is to continue then
 * @throws ServiceError `command_timed_out`, `computer_failed`, `invalid_request`.
 */
export async function runCommand(
  { computer, recovered, outputBytesMax }: CommandPlace,
  execId: string,
  request: ExecRequest,
  signal: AbortSignal,
  { consume, resume = false }: CommandWishes = {},
): Promise<ExecResult> {
  const keep = outlivesCaller(request);
  const kill = keep ? undefined : signal;
  const known = recovered?.claim(execId, kill) ?? (resume ? computer.attach(execId, { signal: kill }) : null);
  const raw = await (known ??
    computer.exec({
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
 * @param timeoutS what the command was given, where that is known
 * @throws ServiceError `command_timed_out`, `service_unavailable` where it was stopped with its caller.
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
  // As JSON no byte takes less than itself: of more than this nothing is decoded, which for all would take 0.1 s.
  const output = raw.output.subarray(0, ERROR_OUTPUT_BYTES_MAX - QUOTES_BYTES);
  const isCut = output.length < raw.output.length;
  const beginning = text({ output, truncated: raw.truncated || isCut });
  const stdout = fitting(beginning, ERROR_OUTPUT_BYTES_MAX);
  const truncated = raw.truncated || isCut || stdout.length < beginning.length;
  return new ServiceError('command_timed_out', `the command was stopped after ${timeoutS} seconds`, {
    details: { stdout, duration_ms: Math.round(raw.durationMs), ...(truncated ? { truncated } : {}) },
  });
}

/** Bytes that are no UTF-8 become U+FFFD; a character that the cap cut in two goes altogether. */
function text({ output, truncated }: Pick<RawResult, 'output' | 'truncated'>): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(output, { stream: truncated });
}

/** The longest beginning, by halves, that is short enough as JSON. */
function fitting(text: string, bytesMax: number): string {
  let kept = text;
  while (Buffer.byteLength(JSON.stringify(kept)) > bytesMax) kept = kept.slice(0, kept.length >> 1);
  return kept;
}
