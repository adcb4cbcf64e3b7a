// Activity of the computer: commands, and its events since it was created.
import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useDocumentVisibility, useInputState } from '@mantine/hooks';
import type { ExecEvent, ExecList, ExecObject, StreamedEvent } from '@switchyard/contracts';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { call, refresh, useGet } from '../api/client.ts';
import { serverEvents } from '../api/server-events.ts';
import { useMay } from '../api/session.ts';
import type { TabProps } from '../pages/computer.tsx';
import { useWork } from '../parts/action.tsx';
import { EventLine } from '../parts/event-line.tsx';
import { Code, DataTable, milliseconds } from '../parts/show.tsx';
import { Empty, Failure, Loaded, Panel } from '../parts/state.tsx';

const EVENTS_SHOWN_MAX = 100;
/** Of a command that writes without end. */
const OUTPUT_CHARS_MAX = 256 * 1024;

/**
 * A command ends with the page. While another tab, also of the browser, is shown, it goes on; the events stop, since
 * browsers allow six connections per host.
 */
export default function Activity({ id, shown }: TabProps & { readonly shown: boolean }) {
  const mayRead = useMay('usage:read');
  const visibility = useDocumentVisibility();
  return (
    <Stack>
      <RunCommand id={id} />
      {shown && <Commands id={id} />}
      {shown && visibility === 'visible' && mayRead && <Events id={id} />}
    </Stack>
  );
}

function RunCommand({ id }: TabProps) {
  const [command, setCommand] = useInputState('uname -a');
  const [output, setOutput] = useState<string | null>(null);
  const [end, setEnd] = useState<string | null>(null);
  const work = useWork();
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const run = (event: FormEvent) => {
    event.preventDefault();
    setOutput('');
    setEnd(null);
    running.current = new AbortController();
    const { signal } = running.current;
    void work.run(async () => {
      for await (const happened of execEvents(id, command, signal)) {
        if (happened.type === 'output')
          setOutput((before) => (before + textOf(happened)).slice(-OUTPUT_CHARS_MAX));
        if (happened.type === 'error') throw new Error(happened.error.message);
        if (happened.type === 'exit') {
          setEnd(`Exit code ${happened.exit_code} after ${milliseconds(happened.duration_ms)}`);
          return refresh(`/v1/computers/${id}/execs`);
        }
      }
      throw new Error('The connection was lost before the command ended.');
    });
  };
  return (
    <Panel title="Run a command">
      <form onSubmit={run}>
        <Group align="end" wrap="nowrap">
          <TextInput
            label="Command"
            value={command}
            onChange={setCommand}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            flex={1}
            required
            withAsterisk={false}
          />
          <Button type="submit" loading={work.busy}>
            Run
          </Button>
        </Group>
      </form>
      {work.error && <Failure error={work.error} />}
      {output !== null && (
        <Code label={output.length === OUTPUT_CHARS_MAX ? 'End of the output' : 'Output'}>{output}</Code>
      )}
      {end && (
        <Text size="sm" role="status">
          {end}
        </Text>
      )}
    </Panel>
  );
}

/** Runs a command and yields its events. */
async function* execEvents(id: string, command: string, signal: AbortSignal): AsyncGenerator<ExecEvent> {
  const answer = await call(`/v1/computers/${id}/exec`, { body: { command, stream: true }, signal });
  for await (const { data } of serverEvents(answer)) if (data) yield JSON.parse(data) as ExecEvent;
}

function textOf({ data, encoding }: ExecEvent & { type: 'output' }): string {
  if (encoding === 'utf-8') return data;
  return new TextDecoder().decode(Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0)));
}

function Commands({ id }: TabProps) {
  const execs = useGet<ExecList>(`/v1/computers/${id}/execs`);
  const [shown, setShown] = useState<string | null>(null);
  return (
    <Panel
      title="Commands"
      actions={
        <Button size="compact-sm" variant="default" onClick={() => void refresh(`/v1/computers/${id}/execs`)}>
          Refresh
        </Button>
      }
    >
      <Loaded of={execs}>
        {({ data }) => (
          <DataTable
            label="Commands"
            empty="No command runs, and no result is kept. The API keeps results of commands with on_disconnect: continue."
            rows={data}
            idOf={({ id: exec }) => exec}
            columns={[
              { title: 'Id', show: ({ id: exec }) => exec },
              { title: 'State', show: ({ status }) => status },
              {
                title: 'Actions',
                show: ({ id: exec }) => (
                  <Button
                    size="compact-sm"
                    variant="default"
                    aria-expanded={shown === exec}
                    onClick={() => setShown(shown === exec ? null : exec)}
                  >
                    Result
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {shown && <Result id={id} exec={shown} />}
    </Panel>
  );
}

function Result({ id, exec }: TabProps & { exec: string }) {
  const found = useGet<ExecObject>(`/v1/computers/${id}/execs/${exec}`);
  return (
    <Loaded of={found}>
      {({ result, error }) => {
        if (error) return <Failure error={new Error(error.message)} />;
        if (!result) return <Text size="sm">No result yet</Text>;
        const cut = result.truncated ? ', the output was cut' : '';
        return <Code label={`Exit code ${result.exit_code}${cut}`}>{result.stdout}</Code>;
      }}
    </Loaded>
  );
}

/** All events of the computer that the stream keeps, then live ones. */
function Events({ id }: TabProps) {
  const [events, setEvents] = useState<readonly StreamedEvent[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt connects again
  useEffect(() => {
    const left = new AbortController();
    setEvents([]);
    setError(null);
    const follow = async () => {
      const path = `/v1/events?since=0&type=computer.*&computer=${id}`;
      for await (const { event, data } of serverEvents(await call(path, { signal: left.signal }))) {
        if (event === 'error') break;
        if (data)
          setEvents((before) => [JSON.parse(data) as StreamedEvent, ...before].slice(0, EVENTS_SHOWN_MAX));
      }
      throw new Error('The events ended. Connect again to see new ones.');
    };
    follow().catch((ended: Error) => left.signal.aborted || setError(ended));
    return () => left.abort();
  }, [id, attempt]);
  return (
    <Panel title="Events">
      {error && <Failure error={error} again={() => setAttempt(attempt + 1)} />}
      {events.length === 0 ? (
        <Empty title="Waiting for events">They appear as they happen.</Empty>
      ) : (
        <Stack gap={6} data-testid="computer-events">
          {events.map((event) => (
            <EventLine key={event.id} event={event} />
          ))}
        </Stack>
      )}
    </Panel>
  );
}
