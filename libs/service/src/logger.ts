// Structured logs on standard output, one JSON object a line. Secrets never get this far: keys are logged by id.
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger } from 'pino';

/** @param destination standard output by default */
export function makeLogger(service: string, level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    name: service,
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    redact: { paths: ['*.authorization', '*.key', 'headers.authorization', '*["x-api-key"]'], remove: true },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Causes of an error that are logged. */
const CAUSES_MAX = 5;

interface LoggedError {
  type: string;
  message: string;
  code?: string;
  stack?: string | undefined;
  cause?: LoggedError;
}

/** Only these members: errors of provider packages also hold the request and the answer, those of zod the value. */
function describeError(error: unknown, causes = CAUSES_MAX): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const inner = cause !== undefined && causes > 0 ? { cause: describeError(cause, causes - 1) } : {};
  return { type: name, message, ...code, stack, ...inner };
}
