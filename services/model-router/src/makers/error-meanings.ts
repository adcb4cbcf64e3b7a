// Errors that makers report with a misleading status, and what they mean. Fallback depends on the status.

/** Characters of a text that are searched for its meaning; makers may repeat the whole request. */
const SEARCHED_LENGTH_MAX = 4 * 1024;

/** FastAPI, and so vLLM, repeats the caller's own values after these words: they say nothing of our account. */
const CALLERS_VALUES = /(?:\\*['"]input\\*['"]\s*:|\binput_value=).*/s;

interface Meaning {
  /** The statuses and the text by which the error is recognised. */
  statuses: readonly number[];
  said: RegExp;
  /** What it is instead. */
  status: number;
  code: string | null;
}

/** Makers' own messages, from their documentation and recorded answers; each has its test. */
const ERROR_MEANINGS: readonly Meaning[] = [
  // Another model may have a longer context.
  {
    statuses: [400, 413, 422],
    // Anthropic; Google; Mistral; xAI; Cohere
    said: /prompt is too long|input token count .{0,200}exceeds|maximum context length|maximum prompt length|too many tokens|context_length_exceeded/i,
    status: 400,
    code: 'context_length_exceeded',
  },
  // Groq: this request alone is over the tokens per minute of our account, which another upstream may not limit.
  { statuses: [413], said: /"rate_limit_exceeded"/, status: 413, code: 'context_length_exceeded' },
  // Our key or account, not the request. Google and xAI send 400 for a bad key, Anthropic for an empty account.
  {
    statuses: [400],
    said: /API_KEY_INVALID|API key not valid|API key expired|incorrect API key/i,
    status: 401,
    code: null,
  },
  {
    statuses: [400, 403],
    said: /credit balance is too low|credits? .{0,200}exhausted|spending limit/i,
    status: 402,
    code: null,
  },
  // OpenAI has no credit of ours left. Alibaba has the same code, with another link, for a limit per minute.
  { statuses: [429], said: /platform\.openai\.com.{0,200}"insufficient_quota"/s, status: 402, code: null },
  // Mistral: the model was retired.
  { statuses: [400], said: /"invalid_model"/, status: 404, code: null },
  // The caller names the voice: ElevenLabs sends 404 only for an unknown voice.
  { statuses: [404], said: /voice_not_found/, status: 400, code: 'voice_not_found' },
  { statuses: [400], said: /User location is not supported/i, status: 403, code: null },
];

/** @param texts the message and the body of the error */
export function meaningOf(status: number, ...texts: string[]): Pick<Meaning, 'status' | 'code'> | undefined {
  const makersOwn = (text: string) => text.slice(0, SEARCHED_LENGTH_MAX).replace(CALLERS_VALUES, '');
  const text = texts.map(makersOwn).join('\n');
  return ERROR_MEANINGS.find(({ statuses, said }) => statuses.includes(status) && said.test(text));
}
