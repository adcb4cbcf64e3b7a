// How amounts, times, states and codes are shown everywhere.
import { Alert, Badge, Button, CopyButton, Group, Stack, Table, Text } from '@mantine/core';
import type { ComputerObject, ComputerStatus, LogEntry } from '@switchyard/contracts';
import type { ReactNode } from 'react';

/** Of a double, in decimal. */
const DIGITS = 15;

/** Dollars to the nano-dollar, with as many decimals as they need, at least two. */
export function dollars(amount: number): string {
  const abs = Math.abs(amount);
  const decimals = Math.min(9, DIGITS - String(Math.trunc(abs)).length);
  return `${amount < 0 ? '−' : ''}$${abs.toFixed(decimals).replace(/(\.\d\d\d*?)0+$/, '$1')}`;
}

export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log10(count) / 3));
  return `${(count / 1000 ** step).toFixed(step === 0 || count / 1000 ** step >= 100 ? 0 : 1)} ${units[step]}`;
}

export function sizeOf({ cpu, memory_mb }: Pick<ComputerObject, 'cpu' | 'memory_mb'>): string {
  return `${cpu} ${cpu === 1 ? 'core' : 'cores'}, ${memory_mb} MB`;
}

export function milliseconds(ms: number | null): string {
  if (ms === null) return '–';
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export function When({ at, dateless }: { at: string; dateless?: true }) {
  const date = new Date(at);
  return (
    <time dateTime={at} title={TIME.format(date)} className="number">
      {dateless ? date.toLocaleTimeString() : TIME.format(date)}
    </time>
  );
}

type LogStatus = LogEntry['status'];

const STATUS_COLORS: Record<LogStatus | ComputerStatus, string> = {
  ok: 'green',
  refused: 'orange',
  error: 'red',
  cancelled: 'gray',
  voided: 'gray',
  creating: 'blue',
  running: 'green',
  stopped: 'gray',
  unreachable: 'orange',
};

export function Status({ is }: { is: LogStatus | ComputerStatus }) {
  return (
    <Badge variant="light" color={STATUS_COLORS[is]}>
      {is}
    </Badge>
  );
}

/** Code with a button that copies it, where the browser lets pages copy: not over plain HTTP from another machine. */
export function Code({ children, label = 'Code' }: { children: string; label?: string }) {
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {label}
        </Text>
        {'clipboard' in navigator && (
          <CopyButton value={children}>
            {({ copied, copy }) => (
              <Button size="compact-xs" variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
        )}
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and is scrolled by keys */}
      <section tabIndex={0} aria-label={label} className="code">
        <pre>{children}</pre>
      </section>
    </Stack>
  );
}

interface ShownOnceProps {
  readonly title: string;
  readonly label: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A secret that the API does not show again. */
export function ShownOnce({ title, label, secret, onClose }: ShownOnceProps) {
  return (
    <Alert
      color="green"
      title={`${title} is shown this once`}
      withCloseButton
      closeButtonLabel="Close"
      onClose={onClose}
    >
      <Code label={label}>{secret}</Code>
    </Alert>
  );
}

/** A name over the identifier that belongs to it. */
export function Named({ name, id }: { name: string; id: string }) {
  return (
    <Stack gap={0}>
      <Text size="sm" fw={600}>
        {name}
      </Text>
      <Text size="xs" c="dimmed" ff="monospace">
        {id}
      </Text>
    </Stack>
  );
}

interface Column<T> {
  readonly title: string;
  readonly show: (row: T) => ReactNode;
  readonly number?: true;
  /** Names and addresses that people choose: a long word breaks, so that it moves no column out of sight. */
  readonly wraps?: true;
}

interface DataTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly idOf: (row: T) => string;
  /** Shown in place of a table without rows. */
  readonly empty?: string;
}

/** A table; on a narrow screen each row is a card that names its columns. Roles are explicit, since cards are no cells. */
export function DataTable<T>({ label, columns, rows, idOf, empty }: DataTableProps<T>) {
  if (rows.length === 0 && empty)
    return (
      <Text size="sm" c="dimmed">
        {empty}
      </Text>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and is scrolled by keys
    <section className="scroll" tabIndex={0} aria-label={label}>
      <Table
        role="table"
        className="cards"
        striped
        highlightOnHover
        verticalSpacing={6}
        style={{ '--columns': columns.length }}
      >
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {columns.map(({ title, number }) => (
              <Table.Th key={title} role="columnheader" ta={number ? 'right' : 'left'}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          {rows.map((row) => (
            <Table.Tr key={idOf(row)} role="row">
              {columns.map(({ title, show, number, wraps }) => (
                <Table.Td
                  key={title}
                  role="cell"
                  {...(number ? { className: 'number right' } : {})}
                  {...(wraps ? { className: 'wraps' } : {})}
                >
                  <span className="card-label" aria-hidden="true">
                    {title}
                  </span>
                  <div>{show(row)}</div>
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

/** A figure with its name. */
export function Figure({ name, children, hint }: { name: string; children: ReactNode; hint?: ReactNode }) {
  return (
    <Stack gap={2}>
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Text size="xl" fw={650} className="figure" component="div">
        {children}
      </Text>
      {hint && (
        <Text size="xs" c="dimmed">
          {hint}
        </Text>
      )}
    </Stack>
  );
}
