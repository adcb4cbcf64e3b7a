// Removes a file or folder from a running computer's /workspace.
import type { HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import { absolutePath, workspaceNames } from '../computer/workspace-path.ts';
import type { Computers } from '../lifecycle/computers.ts';

export async function deleteInComputer(
  { computers }: { computers: Computers },
  { org, id, path, recursive }: HostOperationRequest<'file-delete'>,
): Promise<HostOperationResponse<'file-delete'>> {
  const names = workspaceNames(path);
  const computer = await computers.find(org, id);
  await computer.removeFile(names, { recursive });
  return { path: absolutePath(names), deleted: true };
}
