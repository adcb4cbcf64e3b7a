// Holds every request with a key to the limits of its key and org. The hooks are derived from the declaration of a
// route, so a new endpoint is limited without a line of its own. The tokens of a call are known when its body is parsed.
import { estimateInputTokens } from '@switchyard/spending';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { whenOver } from '../http/request-over.ts';
import { callerOf, isModelCall, type RouteDescription } from '../http/route.ts';
import { Admission, type AdmissionDeps, type ConcurrentKind } from './admission.ts';
import type { KeyLimits } from './key-limits.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null: nothing limits the caller. */
    admission: Admission | null;
  }
}

export interface LimitHooksDeps extends AdmissionDeps {
  readonly limits: KeyLimits;
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

/** Hooks that run after the guard. Requests without a key, and requests for servers in computers, have no limits. */
export function limitHooks(route: RouteDescription, deps: LimitHooksDeps): Hook[] {
  if (route.permission === 'public' || route.untouchedBody) return [];
  return [admitRequest(deps, concurrentKind(route))];
}

function concurrentKind(route: RouteDescription): ConcurrentKind | null {
  if (route.runsCommand) return 'concurrent_commands';
  return isModelCall(route) ? 'concurrent_calls' : null;
}

function admitRequest(deps: LimitHooksDeps, concurrent: ConcurrentKind | null): Hook {
  return (request, reply, done) => {
    const bounds = deps.limits.of(callerOf(request));
    if (bounds === null) return done();
    const admission = new Admission(deps, bounds);
    request.admission = admission;
    whenOver(request, reply, () => {
      if (reply.raw.statusCode >= 400) admission.used(0); // a failed call uses no tokens
      admission.end();
    });
    say(reply, admission, admission.takeRequest(concurrent)).then(() => done(), done);
  };
}

/**
 * Takes the tokens that a model call may use.
 * @param outputTokens the most output that the call asks for
 * @throws ServiceError `rate_limited`
 */
export async function takeTokens(
  { admission, body }: FastifyRequest,
  reply: FastifyReply,
  outputTokens: number,
): Promise<void> {
  if (!admission?.countsTokens) return;
  await say(reply, admission, admission.takeTokens(estimateInputTokens(body as Buffer) + outputTokens));
}

/** Sets the limit headers once `decided` settles, whatever writes the answer. */
async function say(reply: FastifyReply, admission: Admission, decided: Promise<void>): Promise<void> {
  try {
    await decided;
  } finally {
    if (!reply.raw.headersSent)
      for (const [name, value] of Object.entries(admission.headers())) reply.raw.setHeader(name, value);
  }
}
