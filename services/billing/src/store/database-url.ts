// The URL of the database, with its user.

interface DatabaseSettings {
  readonly MONGODB_URL: string;
  readonly MONGODB_USER?: string | undefined;
  readonly MONGODB_PASSWORD?: string | undefined;
}

/** A user in the URL itself is kept. */
export function databaseUrl({
  MONGODB_URL: url,
  MONGODB_USER,
  MONGODB_PASSWORD = '',
}: DatabaseSettings): string {
  if (MONGODB_USER === undefined || url.includes('@')) return url;
  const user = `${encodeURIComponent(MONGODB_USER)}:${encodeURIComponent(MONGODB_PASSWORD)}`;
  return url.replace('://', `://${user}@`);
}
