// Detects when a maker has the whole request: clients report only the start of the answer, but makers bill earlier.
import { DecoratorHandler, type Dispatcher } from 'undici';

/** Returns connections that call `accepted` when a POST was sent in full. Status checks of jobs are GETs and do not count. */
export function notifyWhenSent(dispatcher: Dispatcher, accepted: () => void): Dispatcher {
  return dispatcher.compose(
    (dispatch) => (options, handler) =>
      dispatch(options, options.method === 'POST' ? new SentHandler(handler, accepted) : handler),
  );
}

class SentHandler extends DecoratorHandler {
  readonly #accepted: () => void;

  constructor(handler: Dispatcher.DispatchHandler, accepted: () => void) {
    super(handler);
    this.#accepted = accepted;
  }

  onRequestSent(): void {
    this.#accepted();
  }
}
