// Runs a command and waits for its result. If the host's agent dies meanwhile, the command keeps running in its
// computer; the next agent is asked for the result of the same request and runs nothing twice.
import { type Bus, NobodyThere, requestHostBytes } from '@switchyard/bus';
import { type HostExecRequest, ServiceError } from '@switchyard/contracts';
import { type Clock, sleep } from '@switchyard/service';

/** How long a restarting agent is asked: less than the 30 s for which it keeps the result. */
const RESUME_MS_MAX = 20_000;
const RESUME_PAUSE_MS = 250;

interface WholeExecDeps {
  readonly bus: Bus;
  readonly clock: Clock;
}

interface WholeExec {
  readonly host: string;
  readonly request: HostExecRequest;
  /** Identifies the command; unique per request. */
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/**
 * Returns the result as JSON. @throws ServiceError as the agent's `exec`; `service_unavailable` when the agent was lost
 * and its successor does not know the command.
 */
export async function execWhole(deps: WholeExecDeps, exec: WholeExec): Promise<Buffer> {
  try {
    return await ask(deps, exec, exec.request);
  } catch (error) {
    // Without an agent the command did not begin: its result cannot be awaited.
    if (!isLost(error) || error instanceof NobodyThere || exec.signal.aborted) throw error;
    return resume(deps, exec, error);
  }
}

async function resume(deps: WholeExecDeps, exec: WholeExec, lost: ServiceError): Promise<Buffer> {
  const until = deps.clock.monotonic() + RESUME_MS_MAX;
  while (deps.clock.monotonic() < until) {
    try {
      return await ask(deps, exec, { ...exec.request, resume: true });
    } catch (error) {
      if (exec.signal.aborted) throw error;
      if (isUnknown(error)) break; // the command never began, or its result was in transit when the agent died
      if (!isLost(error)) throw error;
    }
    await sleep(RESUME_PAUSE_MS, deps.clock);
  }
  throw lost;
}

function ask({ bus }: WholeExecDeps, { host, requestId, signal }: WholeExec, request: HostExecRequest) {
  const timeoutMs = Number.POSITIVE_INFINITY; // the agent enforces the timeout of commands
  return requestHostBytes(bus, host, 'exec', request, { timeoutMs, signal, requestId });
}

function isLost(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'service_unavailable';
}

function isUnknown(error: unknown): boolean {
  return error instanceof ServiceError && error.details?.reason === 'unknown_exec';
}
