/** The members of a form's fields that differ from what they were: a change sends only these. */
export function changesOf(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): Record<string, unknown> {
  const same = (name: string) => JSON.stringify(before[name]) === JSON.stringify(after[name]);
  return Object.fromEntries(Object.entries(after).filter(([name]) => !same(name)));
}
