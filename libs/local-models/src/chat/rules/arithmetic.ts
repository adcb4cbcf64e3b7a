// "What is 6 times 7?" -> `6 * 7 = 42`
import { findExpression } from '../arithmetic/find-expression.ts';
import { ArithmeticError, formatFraction } from '../arithmetic/fraction.ts';
import type { Conversation } from '../conversation.ts';

export function arithmetic({ instruction }: Conversation): string | null {
  const found = findExpression(instruction);
  if (!found) return null;
  const { expression, result } = found;
  if (result instanceof ArithmeticError)
    return `${expression} has no exact answer from me: ${result.message}.`;
  return `${expression} = ${formatFraction(result)}`;
}
