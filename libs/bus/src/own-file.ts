// Files that one process writes and, if it dies, another one on the same volume takes over: outboxes and journals.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';

/** A new file name in `folder` that says which process owns it. */
export function ownFile(folder: string, kind: string): string {
  mkdirSync(folder, { recursive: true });
  return join(
    folder,
    `${kind}-${process.pid}-${bornAt(process.pid)}-${randomBytes(4).toString('hex')}.ndjson`,
  );
}

/**
 * Claims the files of this kind whose process is gone, by renaming them: of two that try, one succeeds. Call it before
 * `ownFile`: a file of this very process that is there already was claimed by it and not finished.
 */
export function adoptOrphans(folder: string, kind: string): string[] {
  mkdirSync(folder, { recursive: true });
  const adopted: string[] = [];
  const pattern = new RegExp(`^${kind}-(\\d+)-(\\d+)-[0-9a-f]{8}\\.ndjson$`);
  for (const name of readdirSync(folder)) {
    const [, pid, born] = pattern.exec(name) ?? [];
    if (pid === undefined || (Number(pid) !== process.pid && bornAt(Number(pid)) === born)) continue;
    const claimed = ownFile(folder, kind);
    try {
      renameSync(join(folder, name), claimed);
      adopted.push(claimed);
    } catch {
      // another instance was faster
    }
  }
  return adopted;
}

/**
 * When a process began, in clock ticks since the boot; '0' when there is none, or no /proc to ask. A process number
 * alone is used again, after a restart of the machine at once.
 */
function bornAt(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
  } catch {
    return '0';
  }
}
