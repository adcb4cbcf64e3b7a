// What a key may do. `write` includes `read` of the same family.
import { z } from 'zod';

export const PERMISSIONS = {
  'models:write': 'Model requests: Write',
  'computers:read': 'Computers: Read',
  'computers:write': 'Computers: Write',
  'storage:read': 'Storage: Read',
  'storage:write': 'Storage: Write',
  'usage:read': 'Usage: Read',
  'keys:write': 'Keys: Write',
  operator: 'Operator: all orgs',
} as const;

export type Permission = keyof typeof PERMISSIONS;

export const ALL_PERMISSIONS = Object.keys(PERMISSIONS) as [Permission, ...Permission[]];
export const permission = z.enum(ALL_PERMISSIONS);

/** What a key of a tenant may hold. Only the operator's own org has keys with `operator`. */
export const TENANT_PERMISSIONS = ALL_PERMISSIONS.filter((one) => one !== 'operator');

const INCLUDED_IN: Partial<Record<Permission, Permission>> = {
  'computers:read': 'computers:write',
  'storage:read': 'storage:write',
};

/** Whether a key that holds `held` may do what needs `needed`. */
export function allows(held: readonly Permission[], needed: Permission): boolean {
  const wider = INCLUDED_IN[needed];
  return held.includes(needed) || (wider !== undefined && held.includes(wider));
}
