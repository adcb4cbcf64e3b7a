// The states of loaded data: loading, failed, empty, present.
import { Alert, Button, Center, Group, Loader, Paper, Stack, Text, Title } from '@mantine/core';
import type { Permission } from '@switchyard/contracts';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

export function Loading() {
  return (
    <Center p="xl">
      <Loader aria-label="Loading" size="sm" />
    </Center>
  );
}

export function Failure({ error, again }: { error: Error; again?: () => void }) {
  return (
    <Alert color="red" title="That did not work" role="alert">
      <Group justify="space-between">
        <Text size="sm">{error.message}</Text>
        {again && (
          <Button size="compact-sm" variant="default" onClick={again}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** What a page says while it has nothing to show: what to do next. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Paper withBorder p="lg" ta="center">
      <Stack gap={6} align="center">
        <Text fw={600}>{title}</Text>
        <Text size="sm" c="dimmed" component="div">
          {children}
        </Text>
      </Stack>
    </Paper>
  );
}

export function Loaded<T>({ of, children }: { of: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (of.data !== undefined) return children(of.data);
  if (of.error) return <Failure error={of.error} again={() => void of.refetch()} />;
  return <Loading />;
}

export function Page({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <Stack gap="md" maw={1200}>
      <title>{`${title} · Switchyard`}</title>
      <Group justify="space-between" align="center">
        <Title order={1} size="h2">
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Stack>
  );
}

/** In place of a page that the key of the session may not use. */
export function NotAllowed({ page, to, needs }: { page: string; to: string; needs: Permission }) {
  return (
    <Page title={page}>
      <Empty title={`This key may not ${to}`}>Sign in with a key that has {needs}.</Empty>
    </Page>
  );
}

export function Panel({
  title,
  children,
  actions,
}: {
  title: string;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h5">
            {title}
          </Title>
          {actions}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}
