// Structured logs on standard output, one JSON object a line. Secrets never get this far: keys are logged by id.
import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

export function makeLogger(service: string, level: string): Logger {
  return pino({
    name: service,
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: ['*.authorization', '*.key', 'headers.authorization', '*["x-api-key"]'], remove: true },
  });
}
