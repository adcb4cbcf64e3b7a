import { type OperationContext, requestHost } from '@switchyard/bus';
import {
  type ComputerObject,
  type ComputerRecord,
  type ErrorCode,
  HOST_CREATE_TIMEOUT_MS,
  type HostOperationRequest,
  newComputerRecord,
  newId,
  type OperationRequest,
  ServiceError,
} from '@switchyard/contracts';
import { markUp } from '@switchyard/money';
import { type ComputerOperations, requireComputers } from '../computers/computer-operations.ts';
import { specOf } from '../computers/computer-spec.ts';
import { placementOrder } from '../computers/placement.ts';
import { markDeleting } from '../computers/records.ts';

/** Bound on the clean-up of a creation with unknown outcome; otherwise the host does it later. */
const TAKE_BACK_TIMEOUT_MS = 10_000;

/** Errors after which the agent itself removes what is left of the computer. */
const NOTHING_LEFT: readonly ErrorCode[] = [
  'no_capacity',
  'image_unavailable',
  'computer_failed',
  'invalid_request',
  'insufficient_funds',
  'budget_exceeded',
];

/** Hosts that may fail at one computer, lack of room aside: after two, the image is the likely cause. */
const HOST_FAILURES_MAX = 2;

/** Reasons of `image_unavailable` for which another host may have the image. */
const IMAGE_REASONS_OF_HOST: readonly unknown[] = ['no_room', 'rate_limited'];

/** Asks a host to create the computer of a record. @throws ServiceError as the host's `create` */
type AskHost = (
  host: string,
  beginning: HostOperationRequest<'create'>,
  signal: AbortSignal,
) => Promise<ComputerObject>;

/** Creates a running computer: slot under the cap, then host, then record, then the agent's confirmation. */
export function createComputer(deps: ComputerOperations) {
  const askOnce: AskHost = (host, beginning, signal) =>
    requestHost(deps.bus, host, 'create', beginning, { timeoutMs: HOST_CREATE_TIMEOUT_MS, signal });
  return async (
    { org, key_id, body, limited, markup_percent }: OperationRequest<'computers.create'>,
    { signal }: Pick<OperationContext, 'signal'>,
    ask: AskHost = askOnce,
  ): Promise<ComputerObject> => {
    requireComputers(deps);
    const spec = specOf(body, deps);
    const id = newId('computer');
    await deps.slots.take(org, id, deps.limits.options.max_computers);
    try {
      const hosts = placementOrder(await deps.hosts.placeable(signal), spec, deps.random);
      const record = newComputerRecord({
        ...spec,
        id,
        org,
        key_id,
        host: hosts[0]!.id,
        rates: markUp(deps.limits.rates, markup_percent),
        ...(markup_percent === undefined ? {} : { markup_percent }),
        created_at: new Date(deps.clock.now()).toISOString(),
      });
      const places = hosts.map((host) => ({ ...record, host: host.id }));
      return await place(deps, places, { limited, signal, ask });
    } catch (error) {
      await deps.slots.free(org, [id]);
      throw error;
    }
  };
}

/**
 * Asks the hosts in order. A host that refuses keeps nothing of the computer, so the next one is asked if it may
 * succeed.
 */
async function place(
  deps: ComputerOperations,
  places: readonly ComputerRecord[],
  { limited, signal, ask }: { limited: boolean; signal: AbortSignal; ask: AskHost },
): Promise<ComputerObject> {
  let refusal: ServiceError | undefined;
  let failures = 0;
  for (const record of places) {
    const { org, id, host } = record;
    const revision = await deps.records.place(record);
    try {
      const computer = await ask(host, { org, id, limited, made: { record, revision } }, signal);
      // When the edge is gone or has given up, the caller never learns the computer's id and must not pay for it.
      signal.throwIfAborted();
      return computer;
    } catch (error) {
      if (signal.aborted || !(error instanceof ServiceError) || !NOTHING_LEFT.includes(error.code)) {
        await takeBack(deps, record);
        throw error;
      }
      if (error.code !== 'no_capacity') failures += 1;
      const goesOn = isOfHost(error) && failures < HOST_FAILURES_MAX;
      // Without a record, an old slot would be freed as one that a crash left behind.
      if (goesOn) await deps.slots.take(org, id, deps.limits.options.max_computers);
      await deps.records.remove(record);
      deps.logger.info({ computer: id, host, code: error.code, revision }, 'a host refused a computer');
      if (!goesOn) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

/** Whether another host may succeed: the first one is full, its engine is broken, or it cannot pull the image now. */
function isOfHost({ code, details }: ServiceError): boolean {
  if (code === 'image_unavailable') return IMAGE_REASONS_OF_HOST.includes(details?.reason);
  return code === 'no_capacity' || code === 'computer_failed';
}

/**
 * Marks the record, and tells the host to remove what exists of the computer, free of charge. The caller does not wait
 * for the removal.
 */
async function takeBack(deps: ComputerOperations, record: ComputerRecord): Promise<void> {
  const { org, id } = record;
  const was = await markDeleting(deps.records, record, async () => ({}));
  if (!was) return;
  requestHost(deps.bus, was.host, 'delete', { org, id }, { timeoutMs: TAKE_BACK_TIMEOUT_MS }).catch(
    (error: unknown) => {
      if (error instanceof ServiceError && error.code === 'computer_not_found') return; // already removed
      deps.logger.warn({ err: error, computer: id }, 'the host removes a failed creation later');
    },
  );
}
