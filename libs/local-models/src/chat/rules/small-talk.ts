// Greetings, thanks, farewells, and what this model is.
import { wordsOf } from '../../text/words.ts';
import type { Conversation } from '../conversation.ts';

/** Words of a message that is only a courtesy. */
const COURTESY_WORDS_MAX = 8;

export const CAPABILITIES =
  'arithmetic, saying and counting what I am told to, the date and time (UTC), questions about what was said in this ' +
  'conversation, calling your tools, and JSON that fits a schema';

const GREETING =
  /^(?:hi|hello|hey|hiya|howdy|greetings|hallo|bonjour|hola|good (?:morning|afternoon|evening|day))\b/i;
const THANKS = /\b(?:thanks|thank you|thx|cheers)\b/i;
const FAREWELL = /^(?:bye|goodbye|good night|see you|farewell|ciao)\b/i;
const PING = /^ping\W*$/i;
const HOW_ARE_YOU = /\bhow (?:are|do) you(?: doing| do)?\b/i;
const IDENTITY =
  /\b(?:who|what) are you\b|\b(?:what is|what's) your name\b|\bwhat can you do\b|\b(?:what|which) (?:ai |language )?model are you\b|\bare you (?:an? )?(?:ai|llm|gpt|human|bot|language model)\b|\bintroduce yourself\b|^help\b/i;
const INTRODUCTION = /\b(?:[Mm]y name is|[Ii] am|[Ii]['’]m|[Cc]all me)\s+(\p{Lu}[\p{L}'’-]*)/u;

export function identity({ instruction }: Conversation): string | null {
  if (!IDENTITY.test(instruction)) return null;
  return `I am local/chat, a small rule-based model that runs inside Switchyard, without a network or a language model behind it. I can do ${CAPABILITIES}.`;
}

export function courtesy({ instruction: text }: Conversation): string | null {
  if (wordsOf(text).length > COURTESY_WORDS_MAX) return null;
  const name = INTRODUCTION.exec(text)?.[1];
  if (HOW_ARE_YOU.test(text)) return 'All my rules are in order, thank you. What can I do for you?';
  if (GREETING.test(text)) return `Hello${name === undefined ? '' : `, ${name}`}! What can I do for you?`;
  if (FAREWELL.test(text)) return 'Goodbye!';
  if (PING.test(text)) return 'pong';
  if (THANKS.test(text)) return 'You are welcome.';
  return name === undefined || text.includes('?') ? null : `Pleased to meet you, ${name}.`;
}
