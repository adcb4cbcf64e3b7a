// OpenAI's refusals in text. The AI SDK returns them as normal text, so they are read from the maker's own answer and
// reported as refusals. No other maker's answer has these shapes: a chat completion's, and a response's.

/** In a whole answer. */
export function refusalOfAnswer(body: unknown): string | null {
  return wordsOf(firstChoice(body)?.message) ?? refusalIn((body as ResponsesBody | null)?.output);
}

/** In one chunk or event of a stream. */
export function refusalOfChunk(chunk: unknown): string | null {
  const { type, delta } = (chunk ?? {}) as { type?: unknown; delta?: unknown };
  if (type === 'response.refusal.delta') return wordsOf({ refusal: delta });
  return wordsOf(firstChoice(chunk)?.delta);
}

interface ResponsesBody {
  output?: unknown;
}

function refusalIn(output: unknown): string | null {
  if (!Array.isArray(output)) return null;
  const parts = output.flatMap((item) => (item as { content?: unknown } | null)?.content ?? []);
  return parts.map(wordsOf).find((words) => words !== null) ?? null;
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
