// OpenAI's refusals in text. The AI SDK returns them as normal text, so they are read from the maker's own answer and
// reported as refusals. No other maker's answer has this shape.

/** Of a whole answer. */
export function refusalOfCompletion(body: unknown): string | null {
  return wordsOf(firstChoice(body)?.message);
}

/** Of one chunk of a stream. */
export function refusalOfChunk(chunk: unknown): string | null {
  return wordsOf(firstChoice(chunk)?.delta);
}

interface Choice {
  message?: unknown;
  delta?: unknown;
}

function firstChoice(answer: unknown): Choice | undefined {
  const { choices } = (answer ?? {}) as { choices?: unknown };
  return Array.isArray(choices) ? (choices[0] as Choice | undefined) : undefined;
}

function wordsOf(message: unknown): string | null {
  const { refusal } = (message ?? {}) as { refusal?: unknown };
  return typeof refusal === 'string' && refusal !== '' ? refusal : null;
}
