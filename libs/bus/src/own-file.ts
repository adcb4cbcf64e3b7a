// Files that one process writes and another process on the same volume adopts after a crash: outboxes and journals.
//
// Next to each file is a named pipe that its owner holds open. The kernel knows at once whether a pipe is held, across
// containers (where every process may have pid 1) and however the owner ended. A volume must belong to one host:
// pipes do not work across a network file system.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

const FILE = '.ndjson';
const PIPE = '.owner';
const MKFIFO_TIMEOUT_MS = 60_000;
/** How often living processes look for files of dead ones: a dead process may never restart. */
export const ADOPT_MS = 10_000;

export interface OwnFile {
  readonly path: string;
  /** Releases the file: if it exists, it is an orphan from now on. */
  release(): void;
  /** Removes the file and releases it. */
  remove(): void;
}

/** A new file name in `folder`, owned by this process. The caller creates the file. */
export function ownFile(folder: string, kind: string): OwnFile {
  mkdirSync(folder, { recursive: true });
  accessSync(folder, constants.W_OK); // the error of mkfifo names no folder
  const name = join(folder, `${kind}-${randomBytes(8).toString('hex')}`);
  const path = `${name}${FILE}`;
  const pipe = `${name}${PIPE}`;
  const descriptor = openPipe(pipe);
  const release = () => {
    closeSync(descriptor);
    rmSync(pipe, { force: true });
  };
  return {
    path,
    release,
    remove() {
      rmSync(path, { force: true });
      release();
    },
  };
}

/**
 * Claims files of this kind without an owner, by renaming them: of two claimants, one succeeds. Claims each file only
 * when the caller asks for it, so a caller that fails holds only the last file it got, and must release it.
 */
export function* adoptOrphans(folder: string, kind: string): Generator<OwnFile, void> {
  mkdirSync(folder, { recursive: true });
  const pattern = new RegExp(`^${kind}-[0-9a-f]{16}\\${FILE}$`);
  for (const name of readdirSync(folder).filter((entry) => pattern.test(entry))) {
    const orphan = join(folder, name);
    const pipe = `${orphan.slice(0, -FILE.length)}${PIPE}`;
    if (isHeld(pipe)) continue;
    const claimed = ownFile(folder, kind);
    try {
      renameSync(orphan, claimed.path);
      rmSync(pipe, { force: true });
    } catch (error) {
      claimed.release();
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      continue; // another instance claimed it first
    }
    yield claimed;
  }
}

/**
 * Appends all of the text or nothing: the write that fills a disk is short and raises no error.
 * @returns the number of bytes
 * @throws when the disk has no room for it
 */
export function appendWhole(file: number, text: string): number {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(file, bytes, written);
  } catch (error) {
    if (written > 0) ftruncateSync(file, fstatSync(file).size - written);
    throw error;
  }
  return written;
}

/** Creates a pipe that is held open from the moment it has its name. Returns its descriptor. */
function openPipe(pipe: string): number {
  const unfinished = `${pipe}.new`;
  execFileSync('mkfifo', ['-m', '600', unfinished], { timeout: MKFIFO_TIMEOUT_MS });
  // For reading and writing: opening for only one of them would wait for a process at the other end.
  const descriptor = openSync(unfinished, constants.O_RDWR);
  renameSync(unfinished, pipe);
  return descriptor;
}

/** Whether a process has the pipe open: only then can it be opened for writing without waiting. */
function isHeld(pipe: string): boolean {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENXIO' || code === 'ENOENT') return false;
    throw error;
  }
}
