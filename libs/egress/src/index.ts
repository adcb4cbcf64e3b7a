// Requests to addresses that callers name, made so that they reach the public internet only.
export { type AllowList, parseAllowList } from './allow-list.ts';
export { egressConfig } from './config.ts';
export { createEgress, type Egress, type EgressResponse } from './egress.ts';
export type { Lookup } from './lookup.ts';
