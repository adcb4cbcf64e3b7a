import { isShown, type OperationRequest, type OperationResponse, pageFrom } from '@switchyard/contracts';
import { type ComputerOperations, requireComputers, showComputer } from '../computers/computer-operations.ts';

/** Lists all computers of the org, newest first. The cap keeps the list short, so it has one page unless a limit is given. */
export function listComputers(deps: ComputerOperations) {
  return async ({
    org,
    query,
  }: OperationRequest<'computers.list'>): Promise<OperationResponse<'computers.list'>> => {
    requireComputers(deps);
    const records = (await deps.records.ofOrg(org)).filter(isShown);
    records.sort((a, b) => b.created_at.localeCompare(a.created_at) || a.id.localeCompare(b.id));
    const data = records.map((record) => showComputer(deps, record));
    return pageFrom(data, query, ({ id }) => id);
  };
}
