import { Emitter } from '../../emitter.ts';

/** What whoever rings wants done: `look` at what is known here, or `ask` the remote. */
export type Ring = 'look' | 'ask';

/**
 * Ends the wait of a dispatcher. Whoever knows of something to do may ring it: the socket, for those who
 * come to it, and the publisher, after a push. The alarm hears it.
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
