// The requests to billing about holds. A computer host has requests of its own: it names the minutes, and billing finds
// their payer and price in the placements of their computers.
import { type Bus, request } from '@switchyard/bus';
import type { GrantedHold, OperationRequest } from '@switchyard/contracts';

interface AskOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface HoldAsks {
  take(hold: OperationRequest<'holds.take'>, options: AskOptions): Promise<GrantedHold>;
  settle(settled: OperationRequest<'holds.settle'>, options: AskOptions): Promise<unknown>;
  renew(
    place: number,
    holds: OperationRequest<'holds.renew'>['holds'],
    options: AskOptions,
  ): Promise<unknown>;
}

export function askAsService(bus: Bus): HoldAsks {
  return {
    take: (hold, options) => request(bus, 'holds.take', hold, options),
    settle: (settled, options) => request(bus, 'holds.settle', settled, options),
    renew: (place, holds, options) => request(bus, 'holds.renew', { place, holds }, options),
  };
}

export function askAsHost(bus: Bus, host: string): HoldAsks {
  return {
    take: ({ org, call }, options) => request(bus, 'host-holds.take', { host, org, call }, options),
    settle: ({ org, call, cost_nano }, options) =>
      request(bus, 'host-holds.settle', { host, org, call, spent: BigInt(cost_nano) > 0n }, options),
    renew: (place, holds, options) => {
      const minutes = holds.map(({ org, call }) => ({ org, call }));
      return request(bus, 'host-holds.renew', { host, place, holds: minutes }, options);
    },
  };
}
