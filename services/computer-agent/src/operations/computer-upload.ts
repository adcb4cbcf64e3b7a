// Takes a stored file's bytes from control and puts them into a running computer's /workspace, whole or not at all.
import type { CallHandler } from '@switchyard/bus';
import { hostUploadHead } from '@switchyard/contracts';
import { workspacePath } from '../computer/workspace-path.ts';
import type { Computers } from '../lifecycle/computers.ts';

export function uploadIntoComputer({ computers }: { computers: Computers }): CallHandler {
  return async (call) => {
    const { org, id, path, filename, bytes, sha256 } = hostUploadHead.parse(call.head);
    const to = workspacePath(path, filename);
    const computer = await computers.find(org, id);
    await computer.upload(to, call.body(), { bytes, sha256 });
    call.end({ path: to.absolute, bytes });
  };
}
