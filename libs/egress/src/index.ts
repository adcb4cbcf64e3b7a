// Requests to addresses that callers name, made so that they reach the public internet only.
export { type AllowList, parseAllowList } from './allow-list.ts';
export { egressConfig } from './config.ts';
export {
  createEgress,
  type Egress,
  type EgressOptions,
  type EgressRequest,
  type EgressResponse,
} from './egress.ts';
export { type FailureReason, fetchFailed, urlNotAllowed } from './failures.ts';
export type { Lookup } from './lookup.ts';
export { isPublicAddress } from './public-address.ts';
