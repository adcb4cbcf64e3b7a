// Shows an error of a page instead of an empty window.
import { Alert, Button, Stack, Text } from '@mantine/core';
import { Component, type ReactNode } from 'react';

export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Alert color="red" title="This page cannot be shown" role="alert">
        <Stack align="flex-start" gap="sm">
          <Text size="sm">{error.message}</Text>
          <Button size="compact-sm" onClick={() => location.reload()}>
            Load it again
          </Button>
        </Stack>
      </Alert>
    );
  }
}
