// What a local model says to a request that it cannot serve; local-answer.ts gives it OpenAI's error body.

type LocalRefusalCode =
  | 'invalid_json'
  | 'invalid_request'
  | 'model_not_found'
  | 'context_length_exceeded'
  | 'audio_too_long'
  | 'audio_unreadable'
  | 'program_missing';

/** 503: something that this machine lacks; all others: something about the request. */
type LocalRefusalStatus = 400 | 404 | 503;

export class LocalRefusal extends Error {
  readonly status: LocalRefusalStatus;
  readonly code: LocalRefusalCode;
  /** The field at fault, in OpenAI's dotted form. */
  readonly param: string | null;

  constructor(
    status: LocalRefusalStatus,
    code: LocalRefusalCode,
    message: string,
    param: string | null,
    options?: { cause: unknown },
  ) {
    super(message, options);
    this.name = 'LocalRefusal';
    this.status = status;
    this.code = code;
    this.param = param;
  }
}
