// One event in a line, for people.
import { Badge, Group, Text } from '@mantine/core';
import { eventLine, type StreamedEvent } from '@switchyard/contracts';
import { memo } from 'react';
import { When } from './show.tsx';

const COLORS: Record<string, string> = {
  call: 'blue',
  computer: 'grape',
  video: 'teal',
  key: 'orange',
};

/** Rendered once for each event, however many follow it. */
export const EventLine = memo(({ event }: { event: StreamedEvent }) => {
  return (
    <Group gap="sm" wrap="wrap">
      <Text size="sm" c="dimmed" component="span">
        <When at={event.timestamp} dateless />
      </Text>
      <Badge variant="light" color={COLORS[event.type.split('.')[0] as string] ?? 'gray'} tt="none">
        {event.type}
      </Badge>
      <Text size="sm" component="span" style={{ overflowWrap: 'anywhere' }}>
        {eventLine(event.type, event.data).join(' · ')}
      </Text>
    </Group>
  );
});
