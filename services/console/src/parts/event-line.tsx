// One event in a line, for people.
import { Badge, Group, Text } from '@mantine/core';
import type { EventName, StreamedEvent } from '@switchyard/contracts';
import { dollars, ofNanos, When } from './show.tsx';

type Fields = Record<string, unknown>;
const words = (...values: unknown[]) =>
  values.filter((value) => value !== null && value !== undefined).join(' · ');

const LINES: Record<EventName, (data: Fields) => string> = {
  'call.completed': (data) => words(data.model ?? data.requested_model, data.status, cost(data)),
  'call.refused': (data) => words(data.method, data.path, data.error_code),
  'call.voided': (data) => words(data.request_id, data.reason),
  'computer.created': (data) => words(data.computer_id),
  'computer.started': (data) => words(data.computer_id),
  'computer.stopped': (data) => words(data.computer_id, data.stop_reason),
  'computer.deleted': (data) => words(data.computer_id),
  'computer.metered': (data) => words(data.computer_id, `minute ${data.minute}`, cost(data)),
  'video.charged': (data) => words(data.model, `${data.duration} s`, cost(data)),
  'video.refunded': (data) => words(data.model, data.reason, cost(data)),
  'video.completed': (data) => words(data.model, data.video_id),
  'video.failed': (data) => words(data.model, data.error_code),
  'credit.granted': (data) => words(data.reason, dollars(ofNanos(data.amount_nano))),
  'charge.refunded': (data) => words(data.reason, dollars(ofNanos(data.amount_nano))),
  'account.updated': (data) => words(data.billing),
  'org.created': (data) => words(data.org),
  'org.suspended': (data) => words(data.org),
  'org.restored': (data) => words(data.org),
  'org.removed': (data) => words(data.org),
  'key.created': (data) => words(data.key_id),
  'key.updated': (data) => words(data.key_id),
  'key.revoked': (data) => words(data.key_id),
};

function cost(data: Fields): string {
  return dollars(ofNanos(data.cost_nano));
}

const COLORS: Record<string, string> = {
  call: 'blue',
  computer: 'grape',
  video: 'teal',
  key: 'orange',
};

export function EventLine({ event }: { event: StreamedEvent }) {
  const describe = LINES[event.type as EventName] ?? (() => '');
  return (
    <Group gap="sm" wrap="wrap">
      <Text size="sm" c="dimmed" component="span">
        <When at={event.timestamp} dateless />
      </Text>
      <Badge variant="light" color={COLORS[event.type.split('.')[0] as string] ?? 'gray'} tt="none">
        {event.type}
      </Badge>
      <Text size="sm" component="span" style={{ overflowWrap: 'anywhere' }}>
        {describe(event.data)}
      </Text>
    </Group>
  );
}
