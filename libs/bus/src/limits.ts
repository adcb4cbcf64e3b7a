// Every limit of bus calls, each with its unit.

/** Bytes of a body that travel in the head's message; longer bodies follow in frames under credit. */
export const INLINE_BODY_BYTES_MAX = 384 * 1024;
/** Bytes of one message: less than NATS' `max_payload` of 1 MiB, over which its client throws. */
export const MESSAGE_BYTES_MAX = 1_000_000;
/** Bytes of one data frame. */
export const FRAME_BYTES_MAX = 128 * 1024;
/** Bytes that one side may send before the other side confirms that it consumed them. */
export const WINDOW_BYTES = 512 * 1024;

/** How long a call is offered again while no instance of the service exists: longer than a restart takes. */
export const NOBODY_THERE_MS_MAX = 5_000;
/** Pause between two offers. */
export const NOBODY_THERE_PAUSE_MS = 50;

/** A served call that has sent nothing after this time sends `accept`. */
export const ACCEPT_AFTER_MS = 500;
/** A call without any frame from an instance after this time was lost with the instance that took it. */
export const UNANSWERED_MS_MAX = 3_000;

/** Interval of an instance's heartbeats to the peers that have calls with it. */
export const HEARTBEAT_MS = 1_000;
/** A peer silent for this long is dead, and its calls end. */
export const PEER_SILENT_MS_MAX = 4_000;
/** How often deadlines are checked: one sweep for all calls instead of a timer for each. */
export const SWEEP_MS = 250;
/** A sweep later than this means that this process was paused: silence of peers is then no evidence. */
export const SWEEP_LATE_MS = 1_000;
/** How long a peer's heartbeat is subscribed to after the last call with it. */
export const PEER_FORGET_MS = 30_000;

/** A usage event without a PubAck is published again at this interval. */
export const ACK_AGAIN_MS = 1_000;
/** After this time without a PubAck the caller gets an error and the call is voided. */
export const ACK_WAIT_MS_MAX = 5_000;
/** After such a failure one call in this time may try, until an event is stored again. */
export const STORE_TRIAL_EVERY_MS = 10_000;

/** Events kept for publishing again, about a kilobyte each. */
export const RECENT_EVENTS_MAX = 32_768;

/** Maximum size in bytes of a body that `readBody` collects, and of an answer that `requestWhole` does. */
export const COLLECTED_BODY_BYTES_MAX = 64 * 1024 * 1024;
