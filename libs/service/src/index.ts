// The shape that every service shares: config, logger, clock, start, drain, stop, health, metrics.
export { type Clock, systemClock } from './clock.ts';
export { type CommonConfig, ConfigError, commonConfig, readConfig } from './config.ts';
export { Lock } from './lock.ts';
export { type Logger, makeLogger } from './logger.ts';
export {
  DRAIN_TIMEOUT_MS,
  type Running,
  runService,
  type ServiceDefinition,
  type Surroundings,
} from './run-service.ts';
