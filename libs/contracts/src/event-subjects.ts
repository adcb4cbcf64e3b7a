// Turns an event filter into stream subjects that do not overlap, as JetStream requires.

/** @param suffix the end of the stream's subjects */
export function eventSubjects(org: string, patterns: readonly string[], suffix = ''): string[] {
  if (patterns.includes('*')) return [`event.v1.*.*.${org}${suffix}`];
  const wildcards = new Set(patterns.filter((pattern) => pattern.endsWith('.*')));
  const needed = patterns.filter(
    (pattern) => wildcards.has(pattern) || !wildcards.has(`${pattern.split('.')[0]}.*`),
  );
  return [...new Set(needed)].sort().map((pattern) => `event.v1.${pattern}.${org}${suffix}`);
}
