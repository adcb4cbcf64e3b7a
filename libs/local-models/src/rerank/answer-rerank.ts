// local/rerank: Cohere's and Jina's request -> documents in the order of their BM25 scores.
import { randomUUID } from 'node:crypto';
import { rerankRequest } from '@switchyard/contracts';
import { z } from 'zod';
import { jsonAnswer, type LocalAnswer } from '../local-answer.ts';
import { type LocalRequest, parseRequest } from '../local-request.ts';
import { countTokens, firstTokens } from '../text/tokens.ts';
import { Turns } from '../turns.ts';
import { rankDocuments } from './rank-documents.ts';

const RERANK_MODEL_ID = 'local/rerank';
/** Nine digits tell two scores apart; more would be noise of the double. */
const SCORE_DIGITS = 9;

const localRerankRequest = rerankRequest.safeExtend({
  /** Cohere's: tokens read of each document. */
  max_tokens_per_doc: z.int().min(1).nullish(),
});

export async function answerRerank({ body, signal }: LocalRequest): Promise<LocalAnswer> {
  const request = parseRequest(localRerankRequest, body);
  const {
    query,
    documents,
    top_n: topN,
    return_documents: withDocuments,
    max_tokens_per_doc: limit,
  } = request;
  const turns = new Turns(signal);
  const texts: string[] = [];
  let inputTokens = countTokens(query);
  for (const document of documents) {
    const whole = typeof document === 'string' ? document : document.text;
    const text = limit ? firstTokens(whole, limit) : whole;
    inputTokens += countTokens(text);
    texts.push(text);
    if (turns.over) await turns.next();
  }
  const ranked = await rankDocuments(query, texts, turns);
  const results = ranked.slice(0, topN ?? ranked.length).map(({ index, score }) => ({
    index,
    relevance_score: Number(score.toFixed(SCORE_DIGITS)),
    ...(withDocuments ? { document: asObject(documents[index]) } : {}),
  }));
  return jsonAnswer({
    id: `rerank-${randomUUID()}`,
    model: RERANK_MODEL_ID,
    results,
    // Cohere's clients read the units here, ours in `usage`.
    meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
    usage: { searches: 1, input_tokens: inputTokens, total_tokens: inputTokens },
  });
}

function asObject(document: string | { text: string } | undefined) {
  return typeof document === 'string' ? { text: document } : document;
}
