// Bounds of HTTP at the edge, with their units.

/** Bytes of a JSON body of ours (keys and the like). */
export const SMALL_BODY_BYTES_MAX = 256 * 1024;
/** Time for a client to send its headers, and its whole request: a file of 512 MB over a line of 1.2 Mbit/s. */
export const HEADERS_TIMEOUT_MS = 60_000;
export const REQUEST_TIMEOUT_MS = 3_600_000;
/** An upload of which nothing comes for this long is given up. */
export const STALLED_UPLOAD_MS_MAX = 60_000;
/** A large body that has its place in memory keeps it only while at least so much of it comes in each such stretch. */
export const BODY_PACE_BYTES_MIN = 256 * 1024;
export const BODY_PACE_MS = 15_000;
/** A client that takes nothing of its answer for this long is gone for us: its socket is closed, its call cancelled. */
export const STALLED_CLIENT_MS_MAX = 60_000;
/** Longer than load balancers keep theirs (60 s), so that it is never us who close first. */
export const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/**
 * A connection silent for this long is probed by the kernel: a client whose machine is gone has said no goodbye, and a port or
 * a command that it holds open keeps a computer on, which somebody pays for.
 */
export const PROBE_AFTER_MS = 30_000;
