// Records on disk which calls this edge accepted and has not delivered. After a kill, the next process voids the charge
// of every call whose caller never got its answer. See docs/decisions/2026-11-21-delivery-journal.md.
//
// The journal writes a line `+<request id> <org>` before the call leaves the process, and a line `-<request id>` when
// its last byte went to the client's socket. The page cache survives the process; there is no fsync, as in the bus.
import { closeSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { adoptOrphans, appendWhole, type OwnFile, ownFile } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';

/** Bytes after which the file is compacted to the open calls. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

interface OpenCall {
  requestId: string;
  org: string;
}

/** Takes ownership of the journals of edges that died; the caller removes each, or releases it. */
export function adoptJournals(folder: string): Iterable<OwnFile> {
  return adoptOrphans(folder, 'calls');
}

export class DeliveryJournal {
  readonly #own: OwnFile;
  readonly #logger: Logger;
  readonly #open = new Map<string, string>();
  #file: number;
  #bytes = 0;
  /** Lines of this turn, and those that found no room on the disk. */
  #pending = '';
  /** The last write failed. */
  #isFull = false;

  constructor(folder: string, logger: Logger) {
    this.#logger = logger;
    this.#own = ownFile(folder, 'calls');
    this.#file = openSync(this.#own.path, 'a');
  }

  /**
   * Records a call. It is on disk at the next `flush`, which runs before the bus sends the messages of this turn.
   * @throws ServiceError `service_unavailable` while the disk is full: after a kill the call could not be voided
   */
  taken(requestId: string, org: string): void {
    if (this.#isFull) this.flush();
    if (this.#isFull)
      throw new ServiceError('service_unavailable', 'Calls cannot be recorded at the moment. Retry later.');
    this.#open.set(requestId, org);
    this.#pending += `+${requestId} ${org}\n`;
  }

  /** Lines that find no room on the disk wait for the next write. */
  flush(): void {
    if (this.#pending === '') return;
    try {
      this.#bytes += appendWhole(this.#file, this.#pending);
    } catch (error) {
      if (!this.#isFull)
        this.#logger.error(
          { err: error, alarm: 'journal_not_written' },
          'the journal cannot be written; no further model calls are taken until it can',
        );
      this.#isFull = true;
      return;
    }
    this.#pending = '';
    this.#isFull = false;
    if (this.#bytes > FILE_BYTES_MAX) this.#compact();
  }

  /** The call is settled: delivered, abandoned by its caller, or durably voided. Written to disk at once. */
  settled(requestId: string): void {
    if (!this.#open.delete(requestId)) return;
    this.#pending += `-${requestId}\n`;
    this.flush();
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
    this.#own.release();
  }

  /** Without room for the new file the old one stays, and the next write tries again. */
  #compact(): void {
    const fresh = `${this.#own.path}.new`;
    const old = this.#file;
    let file: number | undefined;
    try {
      rmSync(fresh, { force: true }); // of a process that died here
      file = openSync(fresh, 'a');
      const bytes = appendWhole(file, [...this.#open].map(([id, org]) => `+${id} ${org}\n`).join(''));
      renameSync(fresh, this.#own.path);
      [this.#file, this.#bytes] = [file, bytes];
    } catch {
      if (file !== undefined) closeSync(file);
      return;
    }
    closeSync(old);
  }
}

export function readOpenCalls({ path }: OwnFile): OpenCall[] {
  const open = new Map<string, string>();
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [id = '', org] = line.slice(1).split(' ');
    if (line.startsWith('+') && org !== undefined) open.set(id, org);
    else if (line.startsWith('-')) open.delete(id);
  }
  return [...open].map(([requestId, org]) => ({ requestId, org }));
}
