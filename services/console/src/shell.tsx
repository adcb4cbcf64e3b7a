// The frame of every page: navigation, the state of the live connection, theme, and sign out.
import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Button,
  Group,
  NavLink,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { allows } from '@switchyard/contracts';
import { Suspense, useEffect } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { signOut } from './api/client.ts';
import { useLiveState } from './api/live.ts';
import { useSession } from './api/session.ts';
import { PAGES } from './pages.ts';
import { useWork } from './parts/action.tsx';
import { Boundary } from './parts/boundary.tsx';
import { Failure, Loading } from './parts/state.tsx';

export function Shell() {
  const [opened, { toggle, close }] = useDisclosure(false);
  const [path] = useLocation();
  const { permissions } = useSession().key;
  const leaving = useWork();
  // biome-ignore lint/correctness/useExhaustiveDependencies: closes on navigation
  useEffect(close, [path]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      <AppShell.Header>
        <a className="skip" href="#main">
          Skip to the page
        </a>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Navigation"
              aria-expanded={opened}
            />
            <Text fw={700} component={Link} href="/" c="inherit" td="none">
              Switchyard
            </Text>
            {allows(permissions, 'usage:read') && <LiveBadge />}
          </Group>
          <Account isLeaving={leaving.busy} onLeave={() => void leaving.run(signOut)} />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        {PAGES.filter(({ onlyFor }) => onlyFor === undefined || allows(permissions, onlyFor)).map(
          ({ href, label }) => (
            <NavLink
              key={href}
              component={Link}
              href={href}
              label={label}
              active={isCurrent(path, href)}
              {...(isCurrent(path, href) ? { 'aria-current': 'page' as const } : {})}
            />
          ),
        )}
        <NavLink component="a" href="/docs" label="API reference" mt="auto" />
      </AppShell.Navbar>
      <AppShell.Main id="main">
        {leaving.error && <Failure error={leaving.error} />}
        <Boundary key={path}>
          <Suspense fallback={<Loading />}>
            <Switch>
              {PAGES.map(({ href, Page }) => (
                <Route key={href} path={href} component={Page} />
              ))}
              {PAGES.map(({ href, Detail }) =>
                Detail ? (
                  <Route key={`${href}/one`} path={`${href}/:id`}>
                    {({ id }) => <Detail id={decodeURIComponent(id as string)} />}
                  </Route>
                ) : null,
              )}
              <Route>
                <Text>Page not found. Choose one on the left.</Text>
              </Route>
            </Switch>
          </Suspense>
        </Boundary>
      </AppShell.Main>
    </AppShell>
  );
}

function isCurrent(path: string, href: string): boolean {
  return path === href || (href !== '/' && path.startsWith(`${href}/`));
}

const LIVE = {
  live: { color: 'green', text: 'live' },
  connecting: { color: 'gray', text: 'connecting' },
  offline: { color: 'orange', text: 'reconnecting' },
} as const;

function LiveBadge() {
  const { color, text } = LIVE[useLiveState()];
  return (
    <Badge variant="light" color={color} role="status">
      {text}
    </Badge>
  );
}

function Account({ isLeaving, onLeave }: { isLeaving: boolean; onLeave: () => void }) {
  const { key } = useSession();
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="sm" c="dimmed" visibleFrom="md">
        {key.name}
      </Text>
      <ActionIcon
        variant="default"
        size="lg"
        aria-label={isDark ? 'Light theme' : 'Dark theme'}
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      >
        <ThemeIcon />
      </ActionIcon>
      <Button variant="default" size="compact-sm" loading={isLeaving} onClick={onLeave}>
        Sign out
      </Button>
    </Group>
  );
}

function ThemeIcon() {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="12" r="8" />
      <path d="M12 4v16a8 8 0 0 0 0-16z" fill="currentColor" />
    </svg>
  );
}
