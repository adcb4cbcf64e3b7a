// HTTP limits of the edge, with their units.

/** Bytes of a JSON body of our own endpoints (keys and the like). */
export const SMALL_BODY_BYTES_MAX = 256 * 1024;
/** Time for a client to send its headers, and its whole request: a file of 512 MB at 1.2 Mbit/s. */
export const HEADERS_TIMEOUT_MS = 60_000;
export const REQUEST_TIMEOUT_MS = 3_600_000;
/** An upload without new bytes for this long is given up. */
export const STALLED_UPLOAD_MS_MAX = 60_000;
/** A large body keeps its place in memory only while at least this many bytes arrive in each such window. */
export const BODY_PACE_BYTES_MIN = 2 * 1024 * 1024;
export const BODY_PACE_MS = 30_000;
/** Time for a whole body that is read into memory: 32 MiB at 0.9 Mbit/s. A multiple of BODY_PACE_MS. */
export const BODY_MS_MAX = 300_000;
/** A client that reads nothing of its answer for this long is disconnected, and its call cancelled. */
export const STALLED_CLIENT_MS_MAX = 60_000;
/** Interval of the check for such clients. */
export const STALLED_CLIENT_CHECK_MS = 10_000;
/** Requests of one connection that wait for their answers. Clients that pipeline send fewer. */
export const PIPELINED_REQUESTS_MAX = 32;
/** Longer than load balancers keep connections open (60 s), so that the edge never closes first. */
export const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/**
 * Silence on a connection before the kernel probes it. A crashed client machine sends no close, and a port or command
 * that its connection holds open would keep a billed computer running.
 */
export const PROBE_AFTER_MS = 30_000;
