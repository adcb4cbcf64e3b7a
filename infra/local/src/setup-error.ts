/**
 * The local stack lacks something that only the user can provide. `message` says what failed, `fix` says what to
 * do. Any other error is a bug in the launcher.
 */
export class SetupError extends Error {
  readonly fix: string;

  constructor(message: string, fix: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SetupError';
    this.fix = fix;
  }
}
