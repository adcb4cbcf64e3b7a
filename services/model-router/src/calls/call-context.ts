// Shared by the steps of one call.
import type { EventPublisher, IncomingCall } from '@switchyard/bus';
import { type ModelCallHead, type ModelType, modelCallHead } from '@switchyard/contracts';
import type { ByteBudget, Clock, Logger } from '@switchyard/service';
import type { HoldKeeper } from '@switchyard/spending';
import type { AudioDecoder } from '../audio/audio-decoder.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Maker } from '../makers/maker.ts';
import type { ProviderKeys } from '../providers/provider-keys.ts';
import { CallBudget } from '../spending/call-budget.ts';
import { CallRecord } from './call-record.ts';
import { CallReply } from './call-reply.ts';
import type { Circuits } from './circuits.ts';

export interface ModelCallDeps {
  catalog: Catalog;
  /** By the name of their adapter; the catalog has checked that each upstream has one. */
  makers: Readonly<Record<string, Maker>>;
  circuits: Circuits;
  keys: Pick<ProviderKeys, 'redactKeys'>;
  /** Time limit for the whole call, all attempts and waits together. */
  callTimeoutMs: number;
  /** Memory budget for large bodies. */
  largeBodies: ByteBudget;
  /** Measures audio of formats that the router does not read itself. */
  decoder: AudioDecoder;
  /** Holds for calls of callers with a spending limit. */
  holds: HoldKeeper;
  events: EventPublisher;
  clock: Clock;
  logger: Logger;
}

export interface CallContext extends ModelCallDeps {
  type: ModelType;
  call: IncomingCall;
  head: ModelCallHead;
  record: CallRecord;
  reply: CallReply;
  /** Null when no limit applies to the caller. */
  budget: CallBudget | null;
}

export interface AttemptContext extends CallContext {
  /** Bytes of `largeBodies` that the call's body holds. */
  bodyMemory: number;
}

export function openCall(deps: ModelCallDeps, type: ModelType, call: IncomingCall): CallContext {
  const head = modelCallHead.parse(call.head);
  const { org, key_id: keyId, request_id: id, limited } = head;
  const budget = limited ? new CallBudget(deps.holds.open({ org, keyId, call: id })) : null;
  const record = new CallRecord(type, head, deps);
  const reply = new CallReply({ ...deps, call, head, record, budget });
  return { ...deps, type, call, head, record, reply, budget };
}
