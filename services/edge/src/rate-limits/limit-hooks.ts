// Holds every request with a key to the limits of its key and org. The hooks are derived from the declaration of a
// route, so a new endpoint is limited without a line of its own.
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

/** `onRequest` runs after the guard; `preHandler` runs when the body has arrived. */
interface LimitHooks {
  readonly onRequest: Hook[];
  readonly preHandler: Hook[];
}

/** The most output that a call asks for, in the makers' and dialects' names. A quote in a text is escaped. */
const OUTPUT_TOKENS_ASKED = /^"max_(?:completion_|output_)?tokens"\s*:\s*(\d{1,9})\b/;
const OUTPUT_TOKENS_BEGIN = '"max_';
/** Characters that hold the longest name with its number and some blanks. */
const OUTPUT_TOKENS_LENGTH = 64;

/** Matches that are tried in one body; only a body made to keep the edge busy has more. */
const OUTPUT_TOKENS_LOOKS_MAX = 100;

/** Requests without a key, and requests for servers in computers, have no limits. */
export function limitHooks(route: RouteDescription, deps: LimitHooksDeps): LimitHooks {
  if (route.permission === 'public' || route.untouchedBody) return { onRequest: [], preHandler: [] };
  const concurrent = concurrentKind(route);
  return {
    onRequest: [admitRequest(deps, concurrent)],
    preHandler: concurrent === 'concurrent_calls' && route.request?.body ? [admitTokens] : [],
  };
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

function admitTokens(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const { admission, body } = request;
  if (!admission?.countsTokens || !Buffer.isBuffer(body)) return done();
  const estimate = estimateInputTokens(body) + outputTokensAsked(body);
  say(reply, admission, admission.takeTokens(estimate)).then(() => done(), done);
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

/** Reads the number without parsing the body; the last one counts, as in JSON. 0: none was found. */
export function outputTokensAsked(body: Buffer): number {
  let at = body.length;
  for (let looks = 0; looks < OUTPUT_TOKENS_LOOKS_MAX && at > 0; looks += 1) {
    at = body.lastIndexOf(OUTPUT_TOKENS_BEGIN, at - 1);
    if (at < 0) return 0;
    const found = OUTPUT_TOKENS_ASKED.exec(body.toString('latin1', at, at + OUTPUT_TOKENS_LENGTH));
    if (found && !isEscaped(body, at)) return Number(found[1]);
  }
  return 0;
}

function isEscaped(body: Buffer, at: number): boolean {
  return at > 0 && body[at - 1] === '\\'.charCodeAt(0);
}
