// The text of RESULTS.md: an introduction, then one section for each benchmark, headed by its title.

interface Results {
  readonly introduction: string;
  /** Of all benchmarks, in the order of their sections. */
  readonly titles: readonly string[];
  /** Sections without their headings, by title. */
  readonly fresh: ReadonlyMap<string, string>;
  /** Text of the file so far. Its sections stay where none is fresh. */
  readonly earlier: string;
}

export function mergeResults({ introduction, titles, fresh, earlier }: Results): string {
  const kept = sectionsOf(earlier);
  const sections = titles.flatMap((title) => {
    const section = fresh.get(title) ?? kept.get(title);
    return section === undefined ? [] : [`## ${title}\n\n${section}`];
  });
  return `${[introduction, ...sections].join('\n\n')}\n`;
}

function sectionsOf(text: string): Map<string, string> {
  const [, ...sections] = text.split(/^## /m);
  return new Map(
    sections.map((section) => {
      const [title = '', ...lines] = section.split('\n');
      return [title, lines.join('\n').trim()];
    }),
  );
}
