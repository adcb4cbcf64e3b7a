// The services, by their names on the bus.
export const SERVICE_NAMES = [
  'edge',
  'model-router',
  'video-worker',
  'control',
  'billing',
  'computer-agent',
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** One process for each host, with a NATS user of the host's id. */
export const HOST_SERVICE = 'computer-agent' satisfies ServiceName;
