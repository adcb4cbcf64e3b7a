/** The WebSocket address of a link at the console's own origin: the policy of this page allows no other. */
export function linkSocket(link: string, query?: Record<string, string>): string {
  const address = new URL(new URL(link).pathname, location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  address.search = new URLSearchParams(query).toString();
  return address.href;
}
