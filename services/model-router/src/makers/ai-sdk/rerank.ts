// Reranking: converts Cohere's and Jina's request and answer for an AI SDK reranking model.
import type { rerankRequest } from '@switchyard/contracts';
import { z } from 'zod';
import { type FieldsOfType, fieldsFor } from './field-rules.ts';
import { jsonAnswer, type Translation } from './translation.ts';

const FIELDS: FieldsOfType = {
  read: ['query', 'documents', 'top_n', 'return_documents'],
  known: ['max_tokens_per_doc', 'rank_fields', 'max_chunks_per_doc', 'truncation', 'priority'],
};

type Fields = z.infer<typeof rerankRequest>;

/** The maker's own count, unchanged; answers/read-answer.ts reads both shapes. */
const counts = z.object({
  meta: z.looseObject({ billed_units: z.looseObject({}) }).optional(),
  usage: z.looseObject({}).optional(),
});

export const answerRerank: Translation<'rerank'> = async (model, request) => {
  const { query, top_n: topN, return_documents: whole, ...given } = fieldsFor<Fields>(request, FIELDS);
  const documents = given.documents.map((one) => (typeof one === 'string' ? one : one.text));
  const { ranking, response } = await model.doRerank({
    query,
    documents: { type: 'text', values: documents },
    ...(topN === undefined ? {} : { topN }),
    abortSignal: request.signal,
  });
  const best = ranking.toSorted((a, b) => b.relevanceScore - a.relevanceScore).slice(0, topN);
  return jsonAnswer({
    results: best.map(({ index, relevanceScore }) => ({
      index,
      relevance_score: relevanceScore,
      ...(whole ? { document: { text: documents[index] } } : {}),
    })),
    ...counts.safeParse(response?.body).data,
  });
};
