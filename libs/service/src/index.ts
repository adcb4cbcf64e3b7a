// The shape that every service shares: config, logger, clock, start, drain, stop, health, metrics.
export {
  ByteBudget,
  byteBudgetConfig,
  type HeldBytes,
  LARGE_BODY_BYTES_MIN,
  ORG_SHARE_MAX,
} from './byte-budget.ts';
export { type Clock, systemClock } from './clock.ts';
export { ConfigError, commonConfig, readConfig } from './config.ts';
export { linesOf } from './lines-of.ts';
export { Lock, Locks } from './lock.ts';
export { type Logger, makeLogger } from './logger.ts';
export { countDroppedRefusals, showCounter, showGauge, watchByteBudget } from './metrics.ts';
export { type HeldPlaces, Places } from './places.ts';
export { KeyLocked, ProviderSeal, providersConfig } from './provider-seal.ts';
export { remember } from './remember.ts';
export { type Repeating, repeat } from './repeat.ts';
export { type Running, runService, type ServiceDeps } from './run-service.ts';
export { sleep } from './sleep.ts';
export { withTimeout } from './with-timeout.ts';
