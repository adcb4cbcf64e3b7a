// From a webhook's filter to subjects of the stream, none of which includes another, as JetStream demands.

export function eventSubjects(org: string, patterns: readonly string[]): string[] {
  if (patterns.includes('*')) return [`event.v1.*.*.${org}`];
  const whole = new Set(patterns.filter((pattern) => pattern.endsWith('.*')));
  const needed = patterns.filter((pattern) => whole.has(pattern) || !whole.has(`${pattern.split('.')[0]}.*`));
  return [...new Set(needed)].sort().map((pattern) => `event.v1.${pattern}.${org}`);
}
