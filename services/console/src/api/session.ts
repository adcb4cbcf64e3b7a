import { allows, type Permission, type SessionObject } from '@switchyard/contracts';
import { createContext, useContext } from 'react';

export const SessionContext = createContext<SessionObject | null>(null);

export function useSession(): SessionObject {
  const session = useContext(SessionContext);
  if (!session) throw new Error('a page is shown without a session');
  return session;
}

/** Whether the key of the session may do what needs `permission`. */
export function useMay(permission: Permission): boolean {
  return allows(useSession().key.permissions, permission);
}
