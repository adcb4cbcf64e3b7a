/** The upstream answered 200 with an unusable body: a failed attempt. */
export class UnusableAnswer extends Error {}

/** The upstream answered 200 and reported a failure or refusal in the body; `error` says which. */
export class ReportedError extends UnusableAnswer {
  /** The unchanged `error` member: an object in OpenAI's shape, or a text. */
  readonly error: unknown;

  constructor(error: unknown) {
    super('the answer reported an error');
    this.error = error;
  }
}
