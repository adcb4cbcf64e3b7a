// Stores receipts that an edge could not hand over before it stopped, in a file of the data folder. Its next process,
// or another edge on the same volume, hands them over.
import { readFileSync, writeFileSync } from 'node:fs';
import { adoptOrphans, type OwnFile, ownFile } from '@switchyard/bus';
import { type ReceiptBatch, receiptBatch } from '@switchyard/contracts';

const KIND = 'receipts';

/** Writes batches to a file without an owner. Throws errors of the file system. */
export function keepReceipts(folder: string, batches: readonly ReceiptBatch[]): void {
  const own = ownFile(folder, KIND);
  try {
    writeFileSync(own.path, batches.map((batch) => `${JSON.stringify(batch)}\n`).join(''));
  } finally {
    own.release();
  }
}

/** Takes ownership of files without an owner; the caller removes each, or releases it. */
export function adoptReceipts(folder: string): Iterable<OwnFile> {
  return adoptOrphans(folder, KIND);
}

/** Reads the batches of such a file. Skips a line that is incomplete because the writer was killed. */
export function readReceipts({ path }: OwnFile): ReceiptBatch[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => batchOf(line) ?? []);
}

function batchOf(line: string): ReceiptBatch | null {
  try {
    return receiptBatch.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
