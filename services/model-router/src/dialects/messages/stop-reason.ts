// Converts the end of a chat answer to a stop reason of the Messages API.
import { LIMIT_REASONS, REFUSAL_REASONS } from '../../answers/chat-content.ts';
import type { ChatCompletion } from '../chat-shapes.ts';

/** How a chat answer ended. */
export type ChatEnd = Pick<ChatCompletion['choices'][number], 'finish_reason' | 'stop_reason'>;

type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

/** @param said content of the answer: some makers end any answer with `stop` */
export function toStopReason(
  { finish_reason: reason, stop_reason: stopped }: ChatEnd,
  stopSequences: readonly string[],
  said: { calledTools: boolean; refused: boolean },
): { stop_reason: StopReason; stop_sequence: string | null } {
  if (typeof stopped === 'string' && stopSequences.includes(stopped))
    return { stop_reason: 'stop_sequence', stop_sequence: stopped };
  return { stop_reason: reasonOf(reason, said), stop_sequence: null };
}

function reasonOf(
  reason: string | null | undefined,
  { calledTools, refused }: { calledTools: boolean; refused: boolean },
): StopReason {
  if (LIMIT_REASONS.has(reason)) return 'max_tokens';
  if (REFUSAL_REASONS.has(reason) || refused) return 'refusal';
  return calledTools ? 'tool_use' : 'end_turn';
}
