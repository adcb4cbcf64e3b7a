// Records on disk which calls this edge accepted and has not delivered. After a kill, the next process voids the charge
// of every call whose caller never got its answer. See docs/decisions/2026-11-21-delivery-journal.md.
//
// The journal writes a line `+<request id> <org>` before the call leaves the process, and a line `-<request id>` when
// its last byte went to the client's socket. The page cache survives the process; there is no fsync, as in the bus.
import { closeSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { adoptOrphans, appendWhole, type OwnFile, ownFile } from '@switchyard/bus';

/** Bytes after which the file is compacted to the open calls. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

interface OpenCall {
  requestId: string;
  org: string;
}

interface Orphan {
  /** The file to remove once the calls are voided. */
  file: OwnFile;
  calls: OpenCall[];
}

/** Returns the journals of edges that died, with their open calls. */
export function findOrphans(folder: string): Orphan[] {
  return adoptOrphans(folder, 'calls').map((file) => ({ file, calls: readOpenCalls(file.path) }));
}

export class DeliveryJournal {
  readonly #own: OwnFile;
  readonly #open = new Map<string, string>();
  #file: number;
  #bytes = 0;
  #pending = '';

  constructor(folder: string) {
    this.#own = ownFile(folder, 'calls');
    this.#file = openSync(this.#own.path, 'a');
  }

  /** Records a call. It is on disk at the next `flush`, which runs before the bus sends the messages of this turn. */
  taken(requestId: string, org: string): void {
    this.#open.set(requestId, org);
    this.#pending += `+${requestId} ${org}\n`;
  }

  flush(): void {
    if (this.#pending === '') return;
    this.#write(this.#pending);
    this.#pending = '';
  }

  /** The call is settled: delivered, abandoned by its caller, or durably voided. Written to disk at once. */
  settled(requestId: string): void {
    if (!this.#open.delete(requestId)) return;
    this.#write(`${this.#pending}-${requestId}\n`);
    this.#pending = '';
    if (this.#bytes > FILE_BYTES_MAX) this.#compact();
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
    this.#own.release();
  }

  #write(text: string): void {
    this.#bytes += appendWhole(this.#file, text);
  }

  #compact(): void {
    const fresh = `${this.#own.path}.new`;
    rmSync(fresh, { force: true }); // of a process that died here
    const file = openSync(fresh, 'a');
    this.#bytes = appendWhole(file, [...this.#open].map(([id, org]) => `+${id} ${org}\n`).join(''));
    renameSync(fresh, this.#own.path);
    closeSync(this.#file);
    this.#file = file;
  }
}

function readOpenCalls(path: string): OpenCall[] {
  const open = new Map<string, string>();
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [id = '', org] = line.slice(1).split(' ');
    if (line.startsWith('+') && org !== undefined) open.set(id, org);
    else if (line.startsWith('-')) open.delete(id);
  }
  return [...open].map(([requestId, org]) => ({ requestId, org }));
}
