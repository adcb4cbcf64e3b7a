// Blocks of reasoning in chat: `reasoning_details`, whole or in the pieces of a stream.

/** A block of reasoning, with the data that its maker needs back unchanged. */
export interface ChatReasoningDetail {
  readonly [member: string]: unknown;
  readonly type?: string;
  readonly text?: string | null;
  readonly extra_content?: Readonly<Record<string, unknown>> | null;
}

/** Adds details to those before them; OpenRouter sends one detail in pieces with the same `index`. */
export function addDetails(all: ChatReasoningDetail[], more: readonly ChatReasoningDetail[]): void {
  for (const detail of more) {
    const same = all.find(({ index }) => index !== undefined && index === detail.index);
    if (!same) all.push({ ...detail });
    else Object.assign(same, detail, joined(same, detail));
  }
}

function joined(one: ChatReasoningDetail, other: ChatReasoningDetail): object {
  const texts = [one.text, other.text].filter((text) => typeof text === 'string');
  return texts.length > 0 ? { text: texts.join('') } : {};
}
