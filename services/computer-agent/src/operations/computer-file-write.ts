// Writes a file from the edge into a running computer's /workspace, atomically.
import type { CallHandler } from '@switchyard/bus';
import { hostFileWriteHead, type WorkspaceWritten } from '@switchyard/contracts';
import { workspaceFile } from '../computer/workspace-path.ts';
import { upload } from '../lifecycle/use-run.ts';
import type { OperationDeps } from './requests.ts';

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
