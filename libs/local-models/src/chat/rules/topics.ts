// What a message is about: its first words that carry meaning, as written.
import { keywordsOf, wordsOf } from '../../text/words.ts';

const TOPICS_MAX = 5;
const TOPIC_LENGTH_MAX = 30;
/** Characters of a message that are read. */
const LENGTH_READ_MAX = 500;
/** Words that ask for something are not its topic. */
const INSTRUCTIONS =
  /^(?:answer|write|generate|create|explain|describe|list|name|extract|translate|return|compose|draft|produce|provide)$/i;

export function topicsOf(text: string): string[] {
  const topics = new Map<string, string>();
  for (const word of wordsOf(text.slice(0, LENGTH_READ_MAX)))
    for (const root of keywordsOf(word))
      if (word.length <= TOPIC_LENGTH_MAX && !INSTRUCTIONS.test(word) && !topics.has(root))
        topics.set(root, word);
  return [...topics.values()].slice(0, TOPICS_MAX);
}
