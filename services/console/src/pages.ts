// The pages in the order of the navigation. Each is loaded when it is first shown.
import type { Permission } from '@switchyard/contracts';
import type { ComponentType } from 'react';
import { loadLater } from './parts/load-later.ts';

interface PageEntry {
  readonly href: string;
  readonly label: string;
  readonly Page: ComponentType;
  /** At `<href>/<id>`. */
  readonly Detail?: ComponentType<{ id: string }>;
  /** The navigation shows the page only to keys with this permission; by default to all. */
  readonly onlyFor?: Permission;
}

export const PAGES: readonly PageEntry[] = [
  { href: '/', label: 'Overview', Page: loadLater(() => import('./pages/overview.tsx')) },
  {
    href: '/console/playground',
    label: 'Playground',
    Page: loadLater(() => import('./pages/playground.tsx')),
  },
  { href: '/console/models', label: 'Models', Page: loadLater(() => import('./pages/models.tsx')) },
  {
    href: '/console/computers',
    label: 'Computers',
    Page: loadLater(() => import('./pages/computers.tsx')),
    Detail: loadLater(() => import('./pages/computer.tsx')),
  },
  { href: '/console/files', label: 'Files', Page: loadLater(() => import('./pages/files.tsx')) },
  { href: '/console/usage', label: 'Usage', Page: loadLater(() => import('./pages/usage.tsx')) },
  {
    href: '/console/logs',
    label: 'Logs',
    Page: loadLater(() => import('./pages/logs.tsx')),
    Detail: loadLater(() => import('./pages/log.tsx')),
  },
  { href: '/console/events', label: 'Events', Page: loadLater(() => import('./pages/events.tsx')) },
  { href: '/console/keys', label: 'Keys', Page: loadLater(() => import('./pages/keys.tsx')) },
  { href: '/console/webhooks', label: 'Webhooks', Page: loadLater(() => import('./pages/webhooks.tsx')) },
  { href: '/console/billing', label: 'Billing', Page: loadLater(() => import('./pages/billing.tsx')) },
  {
    href: '/console/orgs',
    label: 'Orgs',
    Page: loadLater(() => import('./pages/orgs.tsx')),
    onlyFor: 'operator',
  },
  {
    href: '/console/providers',
    label: 'Providers',
    Page: loadLater(() => import('./pages/providers.tsx')),
    onlyFor: 'operator',
  },
];
