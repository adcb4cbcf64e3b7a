// Errors that makers report with a misleading status, and what they mean. Fallback depends on the status.

interface Meaning {
  /** The statuses and the text by which the error is recognised. */
  statuses: readonly number[];
  said: RegExp;
  /** What it is instead. */
  status: number;
  code: string | null;
}

/** Makers' own messages, from their documentation and recorded answers; each has its test. */
export const ERROR_MEANINGS: readonly Meaning[] = [
  // Another model may have a longer context.
  {
    statuses: [400, 413, 422],
    // Anthropic; Google; Mistral; xAI; Cohere
    said: /prompt is too long|input token count .{0,200}exceeds|maximum context length|maximum prompt length|too many tokens|context_length_exceeded/i,
    status: 400,
    code: 'context_length_exceeded',
  },
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
  // The caller names the voice: ElevenLabs sends 404 only for an unknown voice.
  { statuses: [404], said: /voice_not_found/, status: 400, code: 'voice_not_found' },
  { statuses: [400], said: /User location is not supported/i, status: 403, code: null },
  // xAI sends 403 for content against its guidelines: this is an answer and never falls back.
  {
    statuses: [403],
    said: /usage guidelines|SAFETY_CHECK|content.?policy/i,
    status: 400,
    code: 'content_policy_violation',
  },
];
