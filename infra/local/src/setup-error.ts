/**
 * Something that the local stack needs is missing or does not work, and a person has to act: the message says
 * what is wrong, `mend` what to do about it. Anything else that is thrown is a fault of ours.
 */
export class SetupError extends Error {
  readonly mend: string;

  constructor(message: string, mend: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SetupError';
    this.mend = mend;
  }
}
