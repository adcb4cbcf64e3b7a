// The fields that all events of administrative changes share: who made the change, and what changed.
import { isDeepStrictEqual } from 'node:util';
import type { OperationContext } from '@switchyard/bus';
import {
  type Actor,
  type Administered,
  type Caller,
  type Changes,
  type EventData,
  type EventName,
  makeEvent,
} from '@switchyard/contracts';

export const EVENT_SOURCE = '/switchyard/control';

/** The request's own id, as the edge gave it to the bus. */
export type RequestContext = Pick<OperationContext, 'requestId'>;

/** The caller of an operation, and its request. */
export interface Acting extends Actor {
  readonly requestId: string | null;
}

/** An object as the API shows it: it has no secret. */
type Shown = Readonly<Record<string, unknown>>;

/** Per value in `changes`: the events of a write fit into a 64 KiB header. Only long lists are longer. */
const VALUE_CHARACTERS_MAX = 2_000;
/** Fields that never count, and the mark-up, which the org may not see: it is an attribute of the event. */
const NOT_CHANGES = ['id', 'object', 'created_at', 'updated_at', 'markup_percent'];

export function actingOf({ org, key_id }: Caller, { requestId }: RequestContext): Acting {
  return { key_id, org, requestId };
}

/**
 * @param by null: the installation itself
 * @param before the object as the API showed it; null: there was none
 * @param after null: it is gone
 */
export function administered(by: Acting | null, before: Shown | null, after: Shown | null): Administered {
  return {
    actor: by && { key_id: by.key_id, org: by.org },
    request_id: by?.requestId ?? null,
    changes: changesOf(before ?? {}, after ?? {}),
  };
}

function changesOf(before: Shown, after: Shown): Changes {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  const pairs = [...fields]
    .filter((field) => !NOT_CHANGES.includes(field))
    .map((field) => [field, { from: before[field] ?? null, to: after[field] ?? null }] as const);
  const changed = pairs.filter(([, { from, to }]) => !isDeepStrictEqual(from, to));
  return Object.fromEntries(
    changed.map(([field, { from, to }]) => [field, { from: shortened(from), to: shortened(to) }]),
  );
}

/** Shortens a long list to a string: events are small. */
function shortened(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : value;
}

interface Happened<N extends EventName> {
  readonly id: string;
  readonly now: number;
  /** New mark-up of an org, if it was changed. */
  readonly markup?: string | undefined;
  readonly data: EventData<N>;
}

export function controlEvent<N extends EventName>(name: N, { id, now, markup, data }: Happened<N>) {
  return makeEvent({ name, id, source: EVENT_SOURCE, time: new Date(now), markup, data });
}
