// Validates a whole answer of each type, and reads its usage and cost.
import type { CatalogModel, ModelType } from '@switchyard/contracts';
import { estimateTokens } from '@switchyard/spending';
import { isJsonObject } from '../json/is-json-object.ts';
import { countElements, type Member, parseMember, topLevelMembers } from '../json/json-members.ts';
import type { Edit } from '../json/splice.ts';
import { UnusableAnswer } from '../makers/unusable-answer.ts';
import {
  FREE,
  type Price,
  priceTokens,
  priceUnits,
  readUsage,
  TOKENS_MAX,
  type TokenUsage,
} from '../spending/pricing.ts';
import {
  IMAGE_OUTPUT_TOKENS_MIN,
  imagesAskedFor,
  inputsAskedFor,
  inputTokensOf,
  readRequest,
} from '../spending/request-price.ts';
import { choicesOf, contentLength, type EmptyAnswer, emptyAnswer, hasContent } from './chat-content.ts';
import { usageWithCost, withCost } from './usage-with-cost.ts';

interface AnswerToRead {
  model: CatalogModel;
  /** The caller's own body. */
  request: Buffer;
  body: Buffer;
  members: ReadonlyMap<string, Member>;
}

export interface ReadAnswer {
  /** The usage object for the caller, as JSON. */
  usage: string;
  price: Price;
  basis: 'upstream' | 'estimated';
  /** Further changes to the answer. */
  edits?: Edit[];
}

/** Types whose answers are a single JSON body. */
export const READ_ANSWER: Partial<Record<ModelType, (answer: AnswerToRead) => ReadAnswer>> = {
  language: readChat,
  embedding: readEmbeddings,
  rerank: readRerank,
  decision: readDecisions,
  image: readImages,
};

/** Requires a message with content. A message that is only a refusal is passed on free of charge. */
function readChat(answer: AnswerToRead): ReadAnswer {
  const { valueStart, valueEnd } = requireContent(answer, 'choices');
  const said = valueEnd - valueStart > EMPTY_CHOICES_BYTES_MAX ? null : emptiness(answer);
  if (said === 'nothing') throw new UnusableAnswer('the answer has nothing in it');
  const read = readTokens(answer, () => estimateOutput(answer));
  if (said !== 'refusal') return read;
  const given = json(answer, 'usage');
  return { usage: usageWithCost(given ?? null, FREE), price: FREE, basis: read.basis };
}

/** Size limit for the check whether choices are empty; longer choices always have content. */
const EMPTY_CHOICES_BYTES_MAX = 8 * 1024;

/** Null for an answer with content; otherwise the class of empty answer, by its last choice. */
function emptiness(answer: AnswerToRead): EmptyAnswer | null {
  const choices = choicesOf({ choices: json(answer, 'choices') });
  if (choices.some(hasContent)) return null;
  return emptyAnswer(choices.at(-1)?.finish_reason, readRequest(answer.request).stop);
}

/** Tokens of the text in all choices; a choice with other content alone, such as an image, counts as one. */
function estimateOutput(answer: AnswerToRead): number {
  const choices = choicesOf({ choices: json(answer, 'choices') });
  const bytes = choices.reduce((sum, choice) => sum + contentLength(choice, Buffer.byteLength), 0);
  return Math.max(estimateTokens(bytes), choices.filter(hasContent).length);
}

/** Requires a vector for each input: callers pair them by their places. */
function readEmbeddings(answer: AnswerToRead): ReadAnswer {
  const { body, request } = answer;
  const asked = inputsAskedFor(request);
  const given = countElements(body, requireContent(answer, 'data'));
  if (given !== asked) throw new UnusableAnswer(`the answer has ${given} vectors for ${asked} inputs`);
  return readTokens(answer, () => 0);
}

/** OpenAI's count of tokens, or an estimate. */
function readTokens(answer: AnswerToRead, estimateOutput: () => number): ReadAnswer {
  const given = json(answer, 'usage');
  const counted = readUsage(given);
  const price = priceTokens(answer.model, counted ?? estimated(answer, estimateOutput()));
  return { usage: usageWithCost(counted ? given : null, price), price, basis: basisOf(counted) };
}

/** Cohere's and Jina's shapes. A request counts as one search unless the maker reports more. */
function readRerank(answer: AnswerToRead): ReadAnswer {
  const results = requireContent(answer, 'results');
  const asked = topLevelMembers(answer.request);
  const ranking = readRanking(answer, asked.get('documents'));
  const usage = record(json(answer, 'usage'));
  const billed = record(record(json(answer, 'meta'))?.billed_units);
  const searches = count(usage?.searches) ?? count(usage?.search_units) ?? count(billed?.search_units) ?? 1;
  const tokens = count(usage?.input_tokens) ?? count(usage?.total_tokens) ?? count(billed?.input_tokens);
  const byTokens = answer.model.pricing.search === undefined;
  const inputTokens = tokens ?? (byTokens ? estimatedInput(answer) : 0);
  const price = priceUnits(answer.model, { searches, inputTokens });
  return {
    usage: withCost({ searches, input_tokens: inputTokens }, price),
    price,
    basis: byTokens ? basisOf(tokens) : 'upstream',
    edits: bestFirst(ranking, results, count(json({ body: answer.request, members: asked }, 'top_n'))),
  };
}

/** Requires scores of documents that were sent, each at most once. */
function readRanking(answer: AnswerToRead, documents: Member | undefined): unknown[] {
  const results = json(answer, 'results');
  const unseen = new Set(Array(documents ? countElements(answer.request, documents) : 0).keys());
  const isRanking =
    Array.isArray(results) &&
    results.every(
      (result) =>
        unseen.delete(record(result)?.index as number) && Number.isFinite(record(result)?.relevance_score),
    );
  if (!isRanking) throw new UnusableAnswer('the answer ranks other documents, or has no scores');
  return results;
}

/** Sorts and cuts the results, since not every server sorts them and supports `top_n`. */
function bestFirst(
  results: unknown[],
  { valueStart: start, valueEnd: end }: Member,
  topN: number | null,
): Edit[] {
  const asked = topN ?? results.length;
  const scores = results.map(scoreOf);
  const isSorted = scores.every((score, at) => !(score > (scores[at - 1] ?? score)));
  if (isSorted && results.length <= asked) return [];
  const best = results.toSorted((a, b) => scoreOf(b) - scoreOf(a)).slice(0, asked);
  return [{ start, end, text: JSON.stringify(best) }];
}

function scoreOf(result: unknown): number {
  return Number(record(result)?.relevance_score);
}

/** Requires an answer to each question. */
function readDecisions(answer: AnswerToRead): ReadAnswer {
  const content = requireContent(answer, 'answers');
  const answers = record(json(answer, 'answers'));
  const questions = topLevelMembers(answer.request).get('questions') as Member; // the endpoint requires it
  for (const name of topLevelMembers(answer.request, questions.valueStart).keys())
    if (!record(answers?.[name])) throw new UnusableAnswer(`the answer lacks question ${name}`);
  const usage = record(json(answer, 'usage'));
  const inputTokens = count(usage?.inputTokens) ?? count(usage?.prompt_tokens);
  const outputTokens = count(usage?.outputTokens) ?? count(usage?.completion_tokens);
  const counted: TokenUsage | null =
    inputTokens === null ? null : { inputTokens, cachedInputTokens: 0, outputTokens: outputTokens ?? 0 };
  const used = counted ?? estimated(answer, estimateTokens(content.valueEnd - content.valueStart));
  const price = priceTokens(answer.model, used);
  const shown = { inputTokens: used.inputTokens, outputTokens: used.outputTokens };
  return { usage: withCost(shown, price), price, basis: basisOf(counted) };
}

/** OpenAI's shape, base64 only. Passes on and charges the images received, at most as many as requested. */
function readImages(answer: AnswerToRead): ReadAnswer {
  const member = requireContent(answer, 'data');
  const data = parseMember(answer.body, member);
  if (!Array.isArray(data) || data.length === 0 || data.some((one) => !isBase64Image(one)))
    throw new UnusableAnswer('the answer has images that are not base64');
  const images = Math.min(data.length, imagesAskedFor(readRequest(answer.request)));
  const usage = record(json(answer, 'usage'));
  const input = count(usage?.input_tokens);
  const output = count(usage?.output_tokens);
  const byTokens = answer.model.pricing.image === undefined;
  const inputTokens = input ?? (byTokens ? estimatedInput(answer) : 0);
  const outputTokens = output ?? (byTokens ? images * IMAGE_OUTPUT_TOKENS_MIN : 0);
  const price = priceUnits(answer.model, { images, inputTokens, outputTokens });
  const shown = { images, input_tokens: inputTokens, output_tokens: outputTokens };
  const basis = byTokens && (input === null || output === null) ? 'estimated' : 'upstream';
  const { valueStart: start, valueEnd: end } = member;
  const edits = images < data.length ? [{ start, end, text: JSON.stringify(data.slice(0, images)) }] : [];
  return { usage: withCost(shown, price), price, basis, edits };
}

function isBase64Image(value: unknown): boolean {
  return typeof record(value)?.b64_json === 'string';
}

/** @throws UnusableAnswer when the member is missing or empty. */
function requireContent({ body, members }: AnswerToRead, name: string): Member {
  const member = members.get(name);
  const short = member && member.valueEnd - member.valueStart < 64;
  if (
    !member ||
    (short && /^(\[\s*\]|\{\s*\}|null)$/.test(body.toString('latin1', member.valueStart, member.valueEnd)))
  )
    throw new UnusableAnswer(`the answer has no ${name}`);
  return member;
}

function json({ body, members }: Pick<AnswerToRead, 'body' | 'members'>, name: string): unknown {
  const member = members.get(name);
  if (!member) return undefined;
  try {
    return parseMember(body, member);
  } catch (cause) {
    throw new UnusableAnswer(`the answer's ${name} is not JSON`, { cause });
  }
}

function record(value: unknown): Record<string, unknown> | null {
  return isJsonObject(value) ? value : null;
}

/** A count that can be charged; null for any other value. */
function count(value: unknown): number | null {
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  return isCount && value <= TOKENS_MAX ? value : null;
}

function estimated(answer: AnswerToRead, outputTokens: number): TokenUsage {
  return { inputTokens: estimatedInput(answer), cachedInputTokens: 0, outputTokens };
}

/** The estimate that the hold of the call was computed from. */
function estimatedInput({ model, request }: AnswerToRead): number {
  return inputTokensOf(model.type, readRequest(request));
}

function basisOf(counted: unknown): 'upstream' | 'estimated' {
  return counted === null ? 'estimated' : 'upstream';
}
