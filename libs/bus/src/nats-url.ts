// NATS_URL: several servers separated by commas, each with or without `user:password@`. One with `tls://` requires TLS
// for all of them.

interface NatsAddress {
  /** host:port, as the client takes them. */
  readonly servers: string[];
  /** Of the first server that names a user. */
  readonly credentials: NatsCredentials | undefined;
  /** Whether a server is named `tls://`. */
  readonly tls: boolean;
}

export interface NatsCredentials {
  readonly user: string;
  readonly password: string;
}

/**
 * The client library ignores credentials in URLs, so they are taken out here.
 * @throws Error for a user or password with a `%` that is not encoded
 */
export function readNatsUrl(url: string): NatsAddress {
  const parts = url.split(',').map((server) => {
    const at = server.lastIndexOf('@');
    const from = server.indexOf('//') === -1 ? 0 : server.indexOf('//') + 2;
    if (at === -1) return { server, user: undefined };
    const [user = '', ...password] = server.slice(from, at).split(':');
    return {
      server: server.slice(0, from) + server.slice(at + 1),
      user: { user: decoded(user), password: decoded(password.join(':')) },
    };
  });
  return {
    servers: parts.map(({ server }) => server),
    credentials: parts.find(({ user }) => user !== undefined)?.user,
    tls: parts.some(({ server }) => server.startsWith('tls://')),
  };
}

/**
 * The address as options of the client.
 * @param caFile certificate authorities, PEM; with them TLS is required too. Unset: those of Node.js
 */
export function connectionOptions(url: string, caFile?: string) {
  const { servers, credentials, tls } = readNatsUrl(url);
  return {
    servers,
    ...(credentials ? { user: credentials.user, pass: credentials.password } : {}),
    // Against a server without TLS the client then fails before it sends a password.
    ...(tls || caFile !== undefined ? { tls: caFile === undefined ? {} : { caFile } } : {}),
  };
}

interface NatsSettings {
  readonly NATS_URL: string;
  readonly NATS_USER?: string | undefined;
  readonly NATS_PASSWORD?: string | undefined;
}

/** The URL of the settings, with the user in it. */
export function natsUrl({ NATS_URL, NATS_USER, NATS_PASSWORD = '' }: NatsSettings): string {
  return NATS_USER ? withCredentials(NATS_URL, { user: NATS_USER, password: NATS_PASSWORD }) : NATS_URL;
}

/** The same servers, with the user in each of them. */
export function withCredentials(url: string, { user, password }: NatsCredentials): string {
  const prefix = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return readNatsUrl(url)
    .servers.map((server) => {
      const [scheme, rest] = server.includes('//') ? server.split('//') : ['nats:', server];
      return `${scheme}//${prefix}${rest}`;
    })
    .join(',');
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Error('NATS_URL: the user or password is not encoded for a URL. Write % as %25.');
  }
}
