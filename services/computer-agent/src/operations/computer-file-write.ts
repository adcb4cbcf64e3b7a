// Takes a file's bytes from the edge and puts them into a running computer's /workspace, whole or not at all.
import type { CallHandler } from '@switchyard/bus';
import { hostFileWriteHead, type WorkspaceWritten } from '@switchyard/contracts';
import { workspaceFile } from '../computer/workspace-path.ts';
import type { Computers } from '../lifecycle/computers.ts';

export function writeInComputer({ computers }: { computers: Computers }): CallHandler {
  return async (call) => {
    const { org, id, path, bytes: promised } = hostFileWriteHead.parse(call.head);
    const to = workspaceFile(path);
    const computer = await computers.find(org, id);
    const { bytes, sha256 } = await computer.upload(to, call.body(), { bytes: promised ?? undefined });
    call.end({ path: to.absolute, bytes, sha256 } satisfies WorkspaceWritten);
  };
}
