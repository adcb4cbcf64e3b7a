// Receipts that an edge could not hand over before it stopped, in a file of the data folder until some edge has: its own
// next life, or another on the same volume.
import { readFileSync, writeFileSync } from 'node:fs';
import { adoptOrphans, type OwnFile, ownFile } from '@switchyard/bus';
import { type ReceiptBatch, receiptBatch } from '@switchyard/contracts';

const KIND = 'receipts';

/** Puts batches into a file that belongs to nobody from now on. Throws what the file system does. */
export function keepReceipts(folder: string, batches: readonly ReceiptBatch[]): void {
  const own = ownFile(folder, KIND);
  try {
    writeFileSync(own.path, batches.map((batch) => `${JSON.stringify(batch)}\n`).join(''));
  } finally {
    own.release();
  }
}

/** Files that belong to nobody, and are ours from now on: to be removed, or released again. */
export function adoptReceipts(folder: string): OwnFile[] {
  return adoptOrphans(folder, KIND);
}

/** What is in such a file. A line that was cut, since the process was killed while it wrote, is passed over. */
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
