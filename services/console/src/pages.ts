// The pages in the order of the navigation. Each is loaded when it is first shown.
import type { Permission } from '@switchyard/contracts';
import { type ComponentType, lazy } from 'react';

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
  { href: '/', label: 'Overview', Page: lazy(() => import('./pages/overview.tsx')) },
  { href: '/console/playground', label: 'Playground', Page: lazy(() => import('./pages/playground.tsx')) },
  { href: '/console/models', label: 'Models', Page: lazy(() => import('./pages/models.tsx')) },
  {
    href: '/console/computers',
    label: 'Computers',
    Page: lazy(() => import('./pages/computers.tsx')),
    Detail: lazy(() => import('./pages/computer.tsx')),
  },
  { href: '/console/files', label: 'Files', Page: lazy(() => import('./pages/files.tsx')) },
  { href: '/console/usage', label: 'Usage', Page: lazy(() => import('./pages/usage.tsx')) },
  {
    href: '/console/logs',
    label: 'Logs',
    Page: lazy(() => import('./pages/logs.tsx')),
    Detail: lazy(() => import('./pages/log.tsx')),
  },
  { href: '/console/events', label: 'Events', Page: lazy(() => import('./pages/events.tsx')) },
  { href: '/console/keys', label: 'Keys', Page: lazy(() => import('./pages/keys.tsx')) },
  { href: '/console/webhooks', label: 'Webhooks', Page: lazy(() => import('./pages/webhooks.tsx')) },
  { href: '/console/billing', label: 'Billing', Page: lazy(() => import('./pages/billing.tsx')) },
  {
    href: '/console/orgs',
    label: 'Orgs',
    Page: lazy(() => import('./pages/orgs.tsx')),
    onlyFor: 'operator',
  },
  {
    href: '/console/providers',
    label: 'Providers',
    Page: lazy(() => import('./pages/providers.tsx')),
    onlyFor: 'operator',
  },
];
