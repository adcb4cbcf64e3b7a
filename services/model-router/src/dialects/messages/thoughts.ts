// Thinking blocks carry a maker's reasoning to the caller and back. What the maker needs back besides the text (its
// signatures) is packed into the block's `signature` or `data`, so that clients return it unchanged.
import type { ChatReasoningDetail } from '@switchyard/contracts';
import { isJsonObject } from '../../json/is-json-object.ts';

interface ThinkingBlock {
  type: 'thinking';
  thinking: string;
  signature: string;
}
interface RedactedThinkingBlock {
  type: 'redacted_thinking';
  data: string;
}

/** Marks our own signatures: those of Anthropic mean nothing to another maker. */
export const OURS = 'sy1_';

/** The reasoning of a message, as chat has it. */
export interface Reasoning {
  reasoning_content?: string;
  reasoning_details?: ChatReasoningDetail[];
}

/** The blocks of a whole message: one for each signed piece of reasoning, or one for all of it. */
export function toThinkingBlocks(
  thoughts: string,
  details: readonly ChatReasoningDetail[],
): (ThinkingBlock | RedactedThinkingBlock)[] {
  const texts = details.map(({ text }) => (typeof text === 'string' ? text : ''));
  if (details.length > 1 && texts.join('') === thoughts)
    return details.flatMap((detail, at) => toThinkingBlocks(texts[at] as string, [detail]));
  if (thoughts === '')
    return details.length === 0 ? [] : [{ type: 'redacted_thinking', data: sign(thoughts, details) }];
  return [{ type: 'thinking', thinking: thoughts, signature: sign(thoughts, details) }];
}

/** Packs what the maker needs back. A text that the block shows is not repeated. */
export function sign(thoughts: string, details: readonly ChatReasoningDetail[]): string {
  const packed = details.map(({ text, ...rest }) => (text === thoughts ? rest : { text, ...rest }));
  return OURS + Buffer.from(JSON.stringify(packed)).toString('base64url');
}

/** The reasoning in blocks that come back. Blocks that we have not signed are another maker's, and are left out. */
export function toReasoning(
  blocks: readonly (Pick<ThinkingBlock, 'type' | 'thinking' | 'signature'> | RedactedThinkingBlock)[],
): Reasoning {
  let text = '';
  const all: ChatReasoningDetail[] = [];
  for (const block of blocks) {
    const [thoughts, packed] =
      block.type === 'thinking' ? [block.thinking, block.signature] : ['', block.data];
    const details = unpack(packed);
    if (details === null) continue;
    text += thoughts;
    all.push(...details.map((detail) => ('text' in detail ? detail : { ...detail, text: thoughts })));
  }
  return {
    ...(text !== '' && { reasoning_content: text }),
    ...(all.length > 0 && { reasoning_details: all }),
  };
}

/** Whether a signature, or the data of a redacted block, was packed here. */
export function isOurs(packed: string): boolean {
  return packed.startsWith(OURS);
}

function unpack(packed: string): ChatReasoningDetail[] | null {
  if (!isOurs(packed)) return null;
  try {
    const details: unknown = JSON.parse(Buffer.from(packed.slice(OURS.length), 'base64url').toString('utf8'));
    return Array.isArray(details) && details.every(isJsonObject) ? (details as ChatReasoningDetail[]) : null;
  } catch {
    return null;
  }
}
