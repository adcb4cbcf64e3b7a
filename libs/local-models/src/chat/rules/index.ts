// The rules in the order in which they are asked; the first that knows an answer gives it.
import type { Conversation } from '../conversation.ts';
import { describeImages } from '../image-note.ts';
import { arithmetic } from './arithmetic.ts';
import { clock } from './clock.ts';
import { recall } from './recall.ts';
import { say } from './say.ts';
import { CAPABILITIES, courtesy, identity } from './small-talk.ts';
import { topicsOf } from './topics.ts';

type Rule = (conversation: Conversation) => string | null;

const RULES: readonly Rule[] = [say, arithmetic, clock, identity, courtesy, recall, noted];

const STATEMENT = /^(?:my|our|i|we|the|this|that|it|there|he|she|they|remember|note)\b[^?]*$/i;

/** What the rules say to a conversation. Never empty. */
export function answerByRules(conversation: Conversation): string {
  const byRule = firstAnswer(conversation);
  if (conversation.images.length === 0) return byRule ?? unknown(conversation);
  const seen = `I see ${describeImages(conversation.images)}. I know the type and size of an image, not what it shows.`;
  return byRule === null ? seen : `${seen} ${byRule}`;
}

function firstAnswer(conversation: Conversation): string | null {
  for (const rule of RULES) {
    const answer = rule(conversation);
    if (answer !== null && answer !== '') return answer;
  }
  return null;
}

function noted({ instruction }: Conversation): string | null {
  return STATEMENT.test(instruction)
    ? 'Noted. I can find that again for as long as this conversation lasts.'
    : null;
}

/** No rule fits: says so, and names the topics of the message. */
function unknown({ said }: Conversation): string {
  const topics = topicsOf(said);
  const about = topics.length === 0 ? 'that' : `your message about ${topics.join(', ')}`;
  return `I have no rule for ${about}: I am local/chat, a small rule-based model. What I can do: ${CAPABILITIES}.`;
}
