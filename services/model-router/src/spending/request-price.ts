// Prices a request by its content when no maker has counted anything: before a call, and after a call that its caller
// left before the answer.
import { type CatalogModel, type ModelType, spokenCharacters } from '@switchyard/contracts';
import { estimateJsonTokens, estimateTokens } from '@switchyard/spending';
import { countElements, isListOfNumbers, topLevelMembers } from '../json/json-members.ts';
import { type Price, priceTokens, priceUnits } from './pricing.ts';

/** A caller's parsed JSON; its endpoint has validated it. */
export type RequestJson = Readonly<Record<string, unknown>>;

/** Tokens of the cheapest image when images are charged by tokens (OpenAI's low quality). */
export const IMAGE_OUTPUT_TOKENS_MIN = 272;

export function readRequest(body: Buffer): RequestJson {
  return JSON.parse(body.toString('utf8')) as RequestJson;
}

/** The minimum that a maker bills once it has the request: its input, its search, its text, or its batch of images. */
export function priceAccepted(model: CatalogModel, request: RequestJson): Price {
  const outputTokens = model.type === 'image' ? imagesAskedFor(request) * IMAGE_OUTPUT_TOKENS_MIN : 0;
  return priceRequest(model, request, outputTokens);
}

/** Prices everything that the request asks for; `outputTokens` applies when output tokens are charged. */
export function priceRequest(model: CatalogModel, request: RequestJson, outputTokens: number): Price {
  const inputTokens = inputTokensOf(model.type, request);
  switch (model.type) {
    case 'language':
    case 'decision':
    case 'embedding':
      return priceTokens(model, { inputTokens, cachedInputTokens: 0, outputTokens });
    case 'image':
      return priceUnits(model, { images: imagesAskedFor(request), inputTokens, outputTokens });
    case 'speech':
      return priceUnits(model, { characters: spokenCharacters(request.input as string) });
    case 'rerank':
      return priceUnits(model, { searches: searchesOf(request), inputTokens });
    default:
      throw new Error(`a call of a ${model.type} model has no JSON to price it by`);
  }
}

export function imagesAskedFor({ n }: RequestJson): number {
  return typeof n === 'number' ? n : 1;
}

/** The inputs of an embedding, each of which gets a vector. The request, which may have 32 MiB, is not parsed. */
export function inputsAskedFor(request: Buffer): number {
  const input = topLevelMembers(request).get('input');
  return input && !isListOfNumbers(request, input) ? countElements(request, input) : 1;
}

/** A search is up to 100 documents of up to 500 tokens; a longer document counts as several (Cohere). */
const SEARCH_DOCUMENTS = 100;
const SEARCH_DOCUMENT_TOKENS = 500;

/** Estimates the searches that a maker counts in a rerank. */
function searchesOf({ documents }: RequestJson): number {
  const counted = (Array.isArray(documents) ? documents : []).reduce((sum: number, document: unknown) => {
    const tokens = typeof document === 'string' ? textTokens(document) : estimateJsonTokens(document);
    return sum + Math.max(1, Math.ceil(tokens / SEARCH_DOCUMENT_TOKENS));
  }, 0);
  return Math.max(1, Math.ceil(counted / SEARCH_DOCUMENTS));
}

/** Estimates the input tokens. Only members that the model reads count; the caller's metadata and whitespace do not. */
export function inputTokensOf(type: ModelType, request: RequestJson): number {
  switch (type) {
    case 'language':
    case 'decision':
      return estimateJsonTokens(withoutNotes(request));
    case 'rerank': {
      const { query, documents } = request;
      return estimateJsonTokens({ query, documents });
    }
    case 'image':
      return textTokens(request.prompt);
    case 'embedding':
      return [request.input].flat(2).reduce((sum: number, one) => sum + textTokens(one), 0);
    default:
      return 0;
  }
}

/** Tokens of a text; an input that is not a text is the number of a single token. */
function textTokens(input: unknown): number {
  return typeof input === 'string' ? estimateTokens(Buffer.byteLength(input)) : 1;
}

/** Members that no model reads. */
const NOTES: ReadonlySet<string> = new Set([
  'model',
  'models',
  'metadata',
  'user',
  'store',
  'stream_options',
  'safety_identifier',
  'prompt_cache_key',
]);

/** The members that a model may read: makers read further ones than the endpoint describes. */
function withoutNotes(request: RequestJson): Record<string, unknown> {
  const read = Object.entries(request).filter(
    ([name, value]) => !NOTES.has(name) && (typeof value === 'string' || typeof value === 'object'),
  );
  return Object.fromEntries(read);
}
