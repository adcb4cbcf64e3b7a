// "What is 6 times 7?" -> `6 * 7 = 42`
import { findExpression } from '../arithmetic.ts';
import type { Conversation } from '../conversation.ts';

export function arithmetic({ instruction }: Conversation): string | null {
  const found = findExpression(instruction);
  if (!found) return null;
  const { expression, result } = found;
  return Number.isFinite(result)
    ? `${expression} = ${result}`
    : `${expression} has no answer: it divides by zero, or is too large for me.`;
}
