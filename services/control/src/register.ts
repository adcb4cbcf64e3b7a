// Control's only wiring list: operation -> what serves it.
import type { ServiceHost } from '@switchyard/bus';
import { createKey, type KeyOperations } from './operations/keys-create.ts';
import { deleteKey } from './operations/keys-delete.ts';
import { listKeys } from './operations/keys-list.ts';

export function register(service: ServiceHost, keys: KeyOperations): void {
  service.handle('keys.create', createKey(keys));
  service.handle('keys.list', listKeys(keys));
  service.handle('keys.delete', deleteKey(keys));
}
