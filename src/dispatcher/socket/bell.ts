import { Emitter } from '../../emitter.ts';

/**
 * The request of a ring: `look` at what is known locally, or `ask` the remote. `fetch` asks it on the word
 * of another machine, which may be wrong, so that it does not count as activity.
 */
export type Ring = 'look' | 'fetch' | 'ask';

/**
 * Ends the wait of a dispatcher. Any part that knows of work rings it: the socket, for requests
 * that arrive there, and the publisher, after a push. The alarm listens to it.
 */
export class Bell {
  readonly #events = new Emitter<{ rung: [what: Ring] }>();

  ring(what: Ring): void {
    this.#events.emit('rung', what);
  }

  onRing(heard: (what: Ring) => void): void {
    this.#events.on('rung', heard);
  }
}
