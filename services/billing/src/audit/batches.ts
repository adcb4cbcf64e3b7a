// Reads collections of any size in batches, so that an audit needs the memory of one batch.
import type { FindCursor } from 'mongodb';

/** Number of documents per batch. */
export const DOCUMENTS_PER_BATCH = 2_000;

/** Reads the documents of a cursor in batches, in the order of the server. */
export async function* inBatches<T>(cursor: FindCursor<T>, size = DOCUMENTS_PER_BATCH): AsyncGenerator<T[]> {
  let batch: T[] = [];
  try {
    for await (const document of cursor.batchSize(size)) {
      batch.push(document);
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  } finally {
    await cursor.close();
  }
}

/** Reads the documents of a cursor by their `_id`. */
export async function readById<T extends { _id: string }>(cursor: FindCursor<T>): Promise<Map<string, T>> {
  const found = new Map<string, T>();
  for await (const document of cursor) found.set(document._id, document);
  return found;
}
