// The streams that read and write files of a running computer's /workspace.
import type { CallHandler, IncomingCall } from '@switchyard/bus';
import {
  type HostFileReadHead,
  type HostFileReadReply,
  hostFileReadHead,
  hostFileWriteHead,
  hostUploadHead,
  partOf,
  type WorkspaceFolder,
  type WorkspaceWritten,
} from '@switchyard/contracts';
import { listFolder, type OpenFile, readBytes } from '../computer/open-entry.ts';
import { absolutePath, workspaceFile, workspaceNames, workspacePath } from '../computer/workspace-path.ts';
import { read, upload } from '../lifecycle/use-run.ts';
import type { OperationDeps } from './requests.ts';

const NOTHING = Buffer.alloc(0);

/** Sends a file, a range of it, or a folder listing. */
export function readInComputer({ computers }: OperationDeps): CallHandler {
  return async (call) => {
    const head = hostFileReadHead.parse(call.head);
    const names = workspaceNames(head.path);
    const computer = await computers.find(head.org, head.id);
    await read(computer, names, async (entry) => {
      if (entry.kind === 'file') return sendFile(call, entry, head);
      call.setHead({ kind: 'folder' } satisfies HostFileReadReply);
      const path = absolutePath(names);
      const folder: WorkspaceFolder = { object: 'folder', path, ...(await listFolder(entry)) };
      call.end(null, Buffer.from(JSON.stringify(folder)));
    });
  };
}

/** Writes a file from the edge, atomically. */
export function writeInComputer({ computers }: OperationDeps): CallHandler {
  return async (call) => {
    const { org, id, path, bytes: promised, ...condition } = hostFileWriteHead.parse(call.head);
    const to = workspaceFile(path);
    const computer = await computers.find(org, id);
    const expected = { bytes: promised ?? undefined };
    const { bytes, sha256 } = await upload(computer, to, call.body(), expected, condition);
    call.end({ path: to.absolute, bytes, sha256 } satisfies WorkspaceWritten);
  };
}

/** Writes a stored file, sent by control, atomically. */
export function uploadIntoComputer({ computers }: OperationDeps): CallHandler {
  return async (call) => {
    const { org, id, path, filename, bytes, sha256 } = hostUploadHead.parse(call.head);
    const target = workspacePath(path, filename);
    const computer = await computers.find(org, id);
    await upload(computer, target, call.body(), { bytes, sha256 });
    call.end({ path: target.absolute, bytes });
  };
}

async function sendFile(call: IncomingCall, file: OpenFile, asked: HostFileReadHead): Promise<void> {
  const { name, bytes, modifiedAt, etag } = file;
  const part = partOf(file, asked);
  const head = { kind: 'file', name, bytes, modified_at: modifiedAt.toISOString(), etag, part } as const;
  call.setHead(head satisfies HostFileReadReply);
  call.write(NOTHING); // send the head at once, even if the file is read slowly
  await call.send(readBytes(file, part?.start ?? 0, part?.end ?? bytes));
}
