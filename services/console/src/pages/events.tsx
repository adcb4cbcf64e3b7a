// The live tail of all events of the org.
import { Button, Group, NativeSelect, Paper, Stack, TextInput, UnstyledButton } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import { EVENTS, type StreamedEvent } from '@switchyard/contracts';
import { useState } from 'react';
import { useLiveEvents } from '../api/live.ts';
import { useMay } from '../api/session.ts';
import { EventLine } from '../parts/event-line.tsx';
import { Code } from '../parts/show.tsx';
import { Empty, NotAllowed, Page } from '../parts/state.tsx';

const SHOWN_MAX = 200;

export default function Events() {
  const may = useMay('usage:read');
  const [events, setEvents] = useState<readonly StreamedEvent[]>([]);
  /** What is shown while it is paused; events that pass meanwhile are shown afterwards. */
  const [paused, setPaused] = useState<readonly StreamedEvent[] | null>(null);
  const [type, setType] = useInputState('');
  const [text, setText] = useInputState('');
  const [open, setOpen] = useState<string | null>(null);
  useLiveEvents((event) => setEvents((before) => [event, ...before].slice(0, SHOWN_MAX)));
  if (!may) return <NotAllowed page="Events" to="follow events" needs="usage:read" />;
  const clear = () => {
    setEvents([]);
    if (paused) setPaused([]);
  };
  const shown = (paused ?? events).filter(
    (event) => (type === '' || event.type === type) && (text === '' || JSON.stringify(event).includes(text)),
  );
  return (
    <Page
      title="Events"
      actions={
        <Group gap="xs">
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => setPaused(paused ? null : events)}
            aria-pressed={paused !== null}
          >
            {paused ? 'Resume' : 'Pause'}
          </Button>
          <Button variant="default" size="compact-sm" onClick={clear}>
            Clear
          </Button>
        </Group>
      }
    >
      <Group align="end">
        <NativeSelect
          label="Type"
          data={[{ value: '', label: 'all' }, ...Object.keys(EVENTS)]}
          value={type}
          onChange={setType}
        />
        <TextInput label="Key, computer, or any text" value={text} onChange={setText} />
      </Group>
      {shown.length === 0 ? (
        <Empty title="Waiting for events">They appear as they happen: make a call in the playground.</Empty>
      ) : (
        <Stack gap={4} data-testid="events">
          {shown.map((event) => (
            <Paper key={event.id} withBorder px="sm" py={6} data-event={event.id}>
              <UnstyledButton
                w="100%"
                aria-expanded={open === event.id}
                onClick={() => setOpen(open === event.id ? null : event.id)}
              >
                <EventLine event={event} />
              </UnstyledButton>
              {open === event.id && <Code label="The event as JSON">{JSON.stringify(event, null, 2)}</Code>}
            </Paper>
          ))}
        </Stack>
      )}
    </Page>
  );
}
