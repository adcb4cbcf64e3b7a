// Connections into computers: their heads on the bus, the input of a terminal, and the links through which a browser
// connects.
import { z } from 'zod';

export const PORT_MAX = 65_535;
const TERMINAL_SIZE_MAX = 1_000;
/** Port of noVNC once `start-desktop` has run in the standard image. */
export const DESKTOP_PORT = 6080;
const LINK_MINUTES_DEFAULT = 60;
/** The longest that a computer runs by default. */
const LINK_MINUTES_MAX = 480;

const origin = { request_id: z.string(), org: z.string(), id: z.string() };

/** Head of `computer-agent.v1.<hostId>.port`; the bodies are the connection's bytes, both ways. */
export const hostPortHead = z.object({ ...origin, port: z.int().min(1).max(PORT_MAX) });
export type HostPortHead = z.infer<typeof hostPortHead>;

const terminalSide = z.int().min(1).max(TERMINAL_SIZE_MAX);

/** Head of `computer-agent.v1.<hostId>.terminal`; its body is lines of `terminalInput`, the answer's the output. */
export const hostTerminalHead = z.object({ ...origin, cols: terminalSide, rows: terminalSide });
export type HostTerminalHead = z.infer<typeof hostTerminalHead>;

/** A line of such a body: keys in base64, or a new size. */
export const terminalInput = z.union([
  z.object({ keys: z.base64() }),
  z.object({ cols: terminalSide, rows: terminalSide }),
]);
export type TerminalInput = z.infer<typeof terminalInput>;

/** Meta at the end of such a call. */
export const hostTerminalEnd = z.object({ exit_code: z.int() });
export type HostTerminalEnd = z.infer<typeof hostTerminalEnd>;

/** A client's text message to its terminal. */
export const terminalMessage = z.strictObject({
  type: z.literal('resize'),
  cols: terminalSide,
  rows: terminalSide,
});

const side = z.coerce.number().int().min(1).max(TERMINAL_SIZE_MAX);

export const terminalQuery = z.object({
  cols: side.default(80).describe('Columns of the terminal'),
  rows: side.default(24).describe('Its rows'),
});

export const createLinkRequest = z
  .strictObject({
    port: z
      .int()
      .min(1)
      .max(PORT_MAX)
      .optional()
      .describe('The port that it leads to; without one it leads to a terminal'),
    minutes: z
      .int()
      .min(1)
      .max(LINK_MINUTES_MAX)
      .default(LINK_MINUTES_DEFAULT)
      .describe('Minutes during which it can be opened'),
  })
  .meta({ examples: [{ port: 3000 }, { minutes: 5 }] });

export const computerLink = z.object({
  object: z.literal('computer.link').describe('Always computer.link'),
  url: z.string().describe('The address; a terminal’s begins with ws'),
  expires_at: z.iso.datetime().describe('When it expires, which is with its key at the latest'),
});
export type ComputerLink = z.infer<typeof computerLink>;

export const desktopRequest = z
  .strictObject({ minutes: createLinkRequest.shape.minutes })
  .meta({ examples: [{}, { minutes: 480 }] });

export const computerDesktop = computerLink.extend({
  object: z.literal('computer.desktop').describe('Always computer.desktop'),
  port: z.int().describe('The port of noVNC in the computer'),
});
export type ComputerDesktop = z.infer<typeof computerDesktop>;
