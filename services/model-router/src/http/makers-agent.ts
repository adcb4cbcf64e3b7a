// Connections to makers.
import { Agent } from 'undici';

/** Each open stream occupies a connection. Further calls wait for a free one, within their time limit. */
const CONNECTIONS_PER_MAKER_MAX = 2_048;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;

/**
 * Creates an agent without timeouts for answers, since every attempt has its own. Each call has its own connection: with
 * HTTP/2 one handshake that hangs would hold up other calls, and one connection that breaks would end them.
 */
export function createMakersAgent(): Agent {
  return new Agent({
    allowH2: false,
    connections: CONNECTIONS_PER_MAKER_MAX,
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
