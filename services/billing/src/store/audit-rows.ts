// The rows of the audit log: one for each administrative event, under its id.
import {
  type Actor,
  AUDITED_EVENTS,
  type AuditedEvent,
  DEFAULT_ORG,
  type Event,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { answered } from './answered.ts';
import type { AuditRow } from './documents.ts';
import type { Store } from './store.ts';

export function isAudited(event: Event): event is Event<AuditedEvent> {
  return (AUDITED_EVENTS as readonly string[]).includes(event.type);
}

export function auditRowOf(event: Event<AuditedEvent>): AuditRow {
  const { id: _id, type, time, data, markuppercent: markup_percent } = event;
  const head = {
    ...{ _id, type, at: new Date(time), org: data.org },
    ...(markup_percent === undefined ? {} : { markup_percent }),
  };
  if ('credit_id' in data || 'charge' in data) {
    const target = 'credit_id' in data ? data.credit_id : data.charge;
    const changes = JSON.stringify({
      amount: { from: null, to: dollarsToJson(BigInt(data.amount_nano)) },
      reason: { from: null, to: data.reason },
      ...(data.reference === null ? {} : { reference: { from: null, to: data.reference } }),
    });
    return { ...head, target, actor: operatorOf(data.key_id), request_id: null, changes };
  }
  const { actor = null, request_id = null, changes = {} } = data;
  return { ...head, target: targetOf(data), actor, request_id, changes: JSON.stringify(changes) };
}

/** Only keys of the operator's own org grant credits and refunds. */
function operatorOf(key_id: string): Actor {
  return { key_id, org: DEFAULT_ORG };
}

function targetOf(data: Event<Exclude<AuditedEvent, 'credit.granted' | 'charge.refunded'>>['data']): string {
  if ('webhook_id' in data) return data.webhook_id;
  if ('provider' in data) return data.provider;
  return 'key_id' in data ? data.key_id : data.org;
}

/** Existing rows stay. */
export async function writeAuditRows({ auditLog }: Store, rows: readonly AuditRow[]): Promise<void> {
  if (rows.length === 0) return;
  const writes = rows.map(({ _id, ...row }) => ({
    updateOne: { filter: { _id }, update: { $setOnInsert: row }, upsert: true },
  }));
  await answered(auditLog.bulkWrite(writes, { ordered: false }));
}
