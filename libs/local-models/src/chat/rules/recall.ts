// Questions about what was said: the sentence of the conversation that shares most of the question's weight.
import { keywordsOf } from '../../text/words.ts';
import { type Conversation, type Statement, statementsOf } from '../conversation.ts';

/** Share of the question's weight that a sentence must have to count as its answer. */
const SHARE_MIN = 0.34;
const ASKS =
  /\?\s*$|^(?:who|what|when|where|which|why|how|whose|did|does|do|is|are|was|were|tell me|remind me)\b/i;
const QUESTION = /[^.!?\n]*\?/g;

const SPEAKERS = {
  user: 'You said',
  assistant: 'I said',
  system: 'I was told',
  tool: 'A tool said',
} as const satisfies Record<Statement['role'], string>;

export function recall(conversation: Conversation): string | null {
  const { instruction } = conversation;
  const question = (instruction.match(QUESTION)?.at(-1) ?? instruction).trim();
  if (!ASKS.test(question)) return null;
  const best = bestStatement(
    question,
    statementsOf(conversation).filter(({ sentence }) => sentence !== question),
  );
  if (best === null) return null;
  return `${SPEAKERS[best.role]}: "${best.sentence.replace(/^["“]|["”]$/g, '')}"`;
}

/** The latest of the sentences with the greatest share; null when none has enough. */
function bestStatement(question: string, statements: readonly Statement[]): Statement | null {
  const asked = new Set(keywordsOf(question));
  const stems = statements.map(({ sentence }) => new Set(keywordsOf(sentence)));
  const weights = new Map(
    [...asked].map((word) => {
      const holders = stems.filter((one) => one.has(word)).length;
      return [word, Math.log(1 + (1 + stems.length) / (1 + holders))];
    }),
  );
  const weightOf = (words: ReadonlySet<string>) =>
    [...words].reduce((sum, word) => sum + (weights.get(word) ?? 0), 0);
  const total = weightOf(asked);
  let best: { statement: Statement; share: number } | null = null;
  for (const [index, statement] of statements.entries()) {
    const common = stems[index]?.intersection(asked) ?? new Set<string>();
    const share = weightOf(common) / total;
    if (share >= SHARE_MIN && (best === null || share >= best.share)) best = { statement, share };
  }
  return best?.statement ?? null;
}
