// Writes a stored file, sent by control, into a running computer's /workspace, atomically.
import type { CallHandler } from '@switchyard/bus';
import { hostUploadHead } from '@switchyard/contracts';
import { workspacePath } from '../computer/workspace-path.ts';
import { upload } from '../lifecycle/use-run.ts';
import type { OperationDeps } from './requests.ts';

export function uploadIntoComputer({ computers }: OperationDeps): CallHandler {
  return async (call) => {
    const { org, id, path, filename, bytes, sha256 } = hostUploadHead.parse(call.head);
    const target = workspacePath(path, filename);
    const computer = await computers.find(org, id);
    await upload(computer, target, call.body(), { bytes, sha256 });
    call.end({ path: target.absolute, bytes });
  };
}
