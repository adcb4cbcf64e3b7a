/** The upstream said 200 and gave nothing that can be used: a failed attempt. */
export class UnusableAnswer extends Error {}

/** The upstream said 200 and then, in the answer itself, that it failed, or that it refuses: `error` says which. */
export class ReportedError extends UnusableAnswer {
  /** The `error` member as it came: an object in OpenAI's shape, or a text. */
  readonly error: unknown;

  constructor(error: unknown) {
    super('the answer reported an error');
    this.error = error;
  }
}
