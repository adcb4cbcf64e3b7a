// Control's only wiring list: operation -> what serves it.
import type { ServiceHost } from '@switchyard/bus';
import type { ComputerOperations } from './computers/computer-operations.ts';
import { createComputer } from './operations/computers-create.ts';
import { deleteComputer } from './operations/computers-delete.ts';
import { getComputer } from './operations/computers-get.ts';
import { listComputers } from './operations/computers-list.ts';
import { computerOptions } from './operations/computers-options.ts';
import { createKey, type KeyOperations } from './operations/keys-create.ts';
import { deleteKey } from './operations/keys-delete.ts';
import { listKeys } from './operations/keys-list.ts';

export interface Served {
  readonly keys: KeyOperations;
  readonly computers: ComputerOperations;
}

export function register(service: ServiceHost, { keys, computers }: Served): void {
  service.handle('keys.create', createKey(keys));
  service.handle('keys.list', listKeys(keys));
  service.handle('keys.delete', deleteKey(keys));
  service.handle('computers.options', computerOptions(computers));
  service.handle('computers.create', createComputer(computers));
  service.handle('computers.list', listComputers(computers));
  service.handle('computers.get', getComputer(computers));
  service.handle('computers.delete', deleteComputer(computers));
}
