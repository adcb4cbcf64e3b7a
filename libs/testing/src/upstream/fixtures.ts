// The recorded answers, typed as far as the upstream works with them.
import chatCompletion from './__fixtures__/chat-completion.json' with { type: 'json' };
import chunk from './__fixtures__/chat-completion-chunk.json' with { type: 'json' };
import imageCompletion from './__fixtures__/chat-completion-image.json' with { type: 'json' };
import structuredCompletion from './__fixtures__/chat-completion-structured.json' with { type: 'json' };
import toolCompletion from './__fixtures__/chat-completion-tools.json' with { type: 'json' };
import embeddings from './__fixtures__/embeddings.json' with { type: 'json' };
import errors from './__fixtures__/errors.json' with { type: 'json' };
import cachedUsage from './__fixtures__/usage-cached.json' with { type: 'json' };

interface RecordedToolCall {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

export interface RecordedCompletion {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: {
    index: number;
    message: { role: string; content: string | null; tool_calls?: RecordedToolCall[] };
    logprobs: null;
    finish_reason: string;
  }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

export const FIXTURES = {
  text: chatCompletion as RecordedCompletion,
  image: imageCompletion as RecordedCompletion,
  tools: toolCompletion as RecordedCompletion,
  structured: structuredCompletion as RecordedCompletion,
  chunk,
  cachedUsage,
  embeddings,
  errors: errors as Readonly<Record<string, { error: { message: string } }>>,
} as const;
