// The life of a service's process, the same for all: read the config, connect, stand by where asked to, start, say so,
// and drain on SIGTERM.
import { flushCompileCache } from 'node:module';
import { type Bus, connectBus } from '@switchyard/bus';
import type { Registry } from 'prom-client';
import type { z } from 'zod';
import { type Clock, systemClock } from './clock.ts';
import { type CommonConfig, ConfigError, readConfig } from './config.ts';
import { makeMetrics, serveHealth } from './health.ts';
import { type Logger, makeLogger } from './logger.ts';
import { untilNeeded } from './stand-by.ts';

/** A started service. */
export interface Running {
  /** Takes no new work, finishes what it has, and lets go of everything. */
  stop(): Promise<void>;
}

export interface Surroundings<C> {
  config: C;
  bus: Bus;
  logger: Logger;
  clock: Clock;
  metrics: Registry;
  /** Aborted when the process is told to stop while it is still starting. */
  signal: AbortSignal;
}

export interface ServiceDefinition<S extends z.ZodType<CommonConfig>> {
  name: string;
  config: S;
  start(surroundings: Surroundings<z.infer<S>>): Promise<Running>;
}

/** A drain that takes longer is cut: the supervisor's patience is a little longer than this. */
export const DRAIN_TIMEOUT_MS = 15_000;
const EXIT_CONFIG = 78; // EX_CONFIG of sysexits.h: restarting will not help

/** Runs a service to its end. The whole of a `main.ts`. */
export async function runService<S extends z.ZodType<CommonConfig>>(
  definition: ServiceDefinition<S>,
): Promise<void> {
  const config = readConfigOrExit(definition.config, definition.name);
  const needed = untilNeeded();
  const logger = makeLogger(definition.name, config.LOG_LEVEL);
  const stopping = new AbortController();
  let running: Running | null = null;
  let bus: Bus | null = null;

  const stop = async (reason: string) => {
    if (stopping.signal.aborted) return;
    stopping.abort(new Error(reason));
    logger.info({ reason }, 'stopping');
    const cut = setTimeout(() => {
      logger.error({ after_ms: DRAIN_TIMEOUT_MS }, 'the drain took too long and is cut');
      process.exit(1);
    }, DRAIN_TIMEOUT_MS);
    await running?.stop();
    await bus?.close();
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

  bus = await connectBus({ url: config.NATS_URL, service: definition.name, logger });
  await needed;
  const metrics = makeMetrics(definition.name);
  running = await definition.start({
    config,
    bus,
    logger,
    clock: systemClock,
    metrics,
    signal: stopping.signal,
  });
  const { HEALTH_PORT: port, HEALTH_HOST: host } = config;
  const connected = bus;
  if (port !== 0) await serveHealth({ host, port, metrics, healthy: () => connected.connected });
  logger.info({ instance: bus.instance }, 'ready');
  process.send?.({ type: 'ready' });
  flushCompileCache(); // by itself Node.js writes it at the end of a process that was not killed; without a folder, nothing
}

function readConfigOrExit<S extends z.ZodType<CommonConfig>>(schema: S, name: string): z.infer<S> {
  try {
    return readConfig(schema, process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exit(EXIT_CONFIG);
  }
}

function fail(logger: Logger, error: unknown): void {
  logger.fatal({ err: error }, 'a fault that nobody handled; the process ends and is started again');
  process.exit(1);
}
