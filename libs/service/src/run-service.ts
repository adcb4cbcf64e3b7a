// The lifecycle of every service process: read the config, connect, start, report readiness, and drain on SIGTERM.
import { flushCompileCache } from 'node:module';
import { type Bus, connectBus, natsUrl } from '@switchyard/bus';
import type { Registry } from 'prom-client';
import type { z } from 'zod';
import { type Clock, systemClock } from './clock.ts';
import { type CommonConfig, ConfigError, readConfig, wrongSetting } from './config.ts';
import { type HealthServer, serveHealth } from './health.ts';
import { type Logger, makeLogger } from './logger.ts';
import { makeMetrics } from './metrics.ts';

/** A started service. */
export interface Running {
  /** Accepts no new work, finishes the current work, and releases all resources. */
  stop(): Promise<void>;
}

export interface ServiceDeps<C> {
  config: C;
  bus: Bus;
  logger: Logger;
  clock: Clock;
  metrics: Registry;
  /** Aborted when the process receives a stop signal during the start. */
  signal: AbortSignal;
}

interface ServiceDefinition<S extends z.ZodType<CommonConfig>> {
  name: string;
  config: S;
  start(deps: ServiceDeps<z.infer<S>>): Promise<Running>;
}

/** A drain that takes longer is cut off. The supervisor waits slightly longer than this. */
const DRAIN_TIMEOUT_MS = 15_000;
const EXIT_CONFIG = 78; // EX_CONFIG of sysexits.h: a restart will not help

/** Runs a service until it ends. The entire content of a `main.ts`. */
export async function runService<S extends z.ZodType<CommonConfig>>(
  definition: ServiceDefinition<S>,
): Promise<void> {
  const config = readConfigOrExit(definition.config, definition.name);
  const logger = makeLogger(definition.name, config.LOG_LEVEL);
  const stopping = new AbortController();
  let running: Running | null = null;
  let bus: Bus | null = null;
  const metrics = makeMetrics(definition.name);
  const { HEALTH_PORT: port, HEALTH_HOST: host } = config;
  const ready = () => running !== null && bus?.connected === true && !stopping.signal.aborted;
  let health: HealthServer | null = null;

  const stop = async (reason: string) => {
    if (stopping.signal.aborted) return;
    stopping.abort(new Error(reason));
    logger.info({ reason }, 'stopping');
    const cut = setTimeout(() => {
      logger.error({ after_ms: DRAIN_TIMEOUT_MS }, 'the drain took too long; exiting');
      process.exit(1);
    }, DRAIN_TIMEOUT_MS);
    await running?.stop();
    await bus?.close();
    health?.close();
    clearTimeout(cut);
    process.exit(0);
  };
  const stopOn = (signal: NodeJS.Signals) =>
    process.on(signal, () => {
      stop(signal).catch((error: unknown) => fail(logger, error));
    });
  stopOn('SIGTERM');
  stopOn('SIGINT');
  process.on('uncaughtException', (error) => fail(logger, error));
  process.on('unhandledRejection', (error) => fail(logger, error));

  const exitOnWrongSetting = (error: unknown) =>
    exitOnConfigError(wrongSetting(error, config), definition.name);
  // From here on /livez answers, so that a wait for NATS or a database is not taken for a dead process.
  if (port !== undefined)
    health = await serveHealth({ host, port, metrics, ready }).catch(exitOnWrongSetting);
  bus = await connectBus({
    url: natsUrl(config),
    caFile: config.NATS_TLS_CA,
    service: definition.name,
    logger,
  }).catch(exitOnWrongSetting);
  const deps = { config, bus, logger, clock: systemClock, metrics, signal: stopping.signal };
  running = await definition.start(deps).catch(exitOnWrongSetting);
  logger.info({ instance: bus.instance, ...(health === null ? {} : { health: health.url }) }, 'ready');
  process.send?.({ type: 'ready' });
  flushCompileCache(); // Node.js itself writes it only on a normal exit; no effect without a cache folder
}

function readConfigOrExit<S extends z.ZodType<CommonConfig>>(schema: S, name: string): z.infer<S> {
  try {
    return readConfig(schema, process.env);
  } catch (error) {
    return exitOnConfigError(error, name);
  }
}

function exitOnConfigError(error: unknown, name: string): never {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${name}: ${error.message}\n`);
  process.exit(EXIT_CONFIG);
}

function fail(logger: Logger, error: unknown): void {
  logger.fatal({ err: error }, 'unhandled error; the process ends and is restarted');
  process.exit(1);
}
