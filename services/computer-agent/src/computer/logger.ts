/** The part of pino that these modules use. */
export interface HostLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
