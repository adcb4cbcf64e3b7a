// Checks every answer that comes through `fetch`, whatever client sent the request, against the document that its own
// edge serves. Requests and answers stay unchanged.
import { AnswerChecker, type OpenApiDocument } from './answer-checker.ts';

/** Paths of the API; what lies beside them (health, metrics, the reference page) is not in the document. */
const API_PATH = /^\/v[12]\//;
const DOCUMENT_PATH = '/v1/openapi.json';
/** Paths of documents, which are not in the document either. */
const DOCUMENT_PATHS: readonly string[] = [DOCUMENT_PATH, '/v1/asyncapi.json'];

export interface AnswerWatch {
  /** `fetch`, watched. */
  readonly fetch: typeof fetch;
  /** The faults found since the previous call, including those of answers still being checked. */
  faults(): Promise<string[]>;
}

export function watchAnswers(realFetch: typeof fetch): AnswerWatch {
  const found: string[] = [];
  const checking = new Set<Promise<void>>();
  const checkers = new Map<string, AnswerChecker | null>();

  /** Of the edge at `origin`; null if it is not one of our edges, undefined if it does not answer now. */
  const checkerOf = async (origin: string): Promise<AnswerChecker | null | undefined> => {
    const tried = checkers.get(origin);
    if (tried !== undefined) return tried;
    const document = await realFetch(origin + DOCUMENT_PATH).catch(() => undefined);
    if (!document) return undefined;
    const checker = compiledChecker(await document.text().catch(() => ''));
    checkers.set(origin, checker);
    return checker;
  };

  const check = async (method: string, url: URL, answer: Response): Promise<void> => {
    const { status, headers } = answer;
    const isJson = headers.get('content-type')?.startsWith('application/json') === true;
    // A client that went away midway leaves nothing to check.
    const json = isJson && method !== 'HEAD' ? await answer.json().catch(() => undefined) : undefined;
    const checker = await checkerOf(url.origin);
    const path = url.pathname;
    if (checker) found.push(...checker.faultsOf({ method, path, status, headers, json }));
  };

  return {
    fetch: async (input, init) => {
      const answer = await realFetch(input, init);
      const request = input instanceof Request ? input : undefined;
      const url = new URL(request?.url ?? String(input));
      if (!API_PATH.test(url.pathname) || DOCUMENT_PATHS.includes(url.pathname)) return answer;
      const method = (init?.method ?? request?.method ?? 'GET').toUpperCase();
      const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
      // Only JSON is read here: a second reader would change the pace of a stream.
      const seen = isJson ? answer.clone() : new Response(null, bodiless(answer));
      const ended: Promise<void> = check(method, url, seen).finally(() => checking.delete(ended));
      checking.add(ended);
      return answer;
    },
    async faults() {
      await Promise.all(checking);
      return found.splice(0);
    },
  };
}

/** Checkers by document text, which all edges of a version share: its schemas take seconds to compile. */
const known = new Map<string, AnswerChecker>();

/** @returns null if not an OpenAPI document */
function compiledChecker(text: string): AnswerChecker | null {
  const compiled = known.get(text);
  if (compiled) return compiled;
  const document = parsed(text);
  if (document?.openapi === undefined) return null;
  const checker = new AnswerChecker(document);
  known.set(text, checker);
  return checker;
}

function parsed(text: string): OpenApiDocument | null {
  try {
    return JSON.parse(text) as OpenApiDocument | null;
  } catch {
    return null;
  }
}

function bodiless({ status, headers }: Response): ResponseInit {
  return { status, headers };
}
