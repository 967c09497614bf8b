/** Requests of an agent that are open at a time: no agent has so many tools under way. */
const MOST_OPEN = 1000;
/** With this an agent takes a request of its own back. */
const CANCEL = '$/cancel_request';

type Message = Readonly<Record<string, unknown>>;

/**
 * Chooses what of an agent's messages is answered or ends a request of ours. All others are only read from its
 * output: they would cost the library of the protocol more than the agent, and it prints what it does not
 * understand on our stderr, where the log is, in the words of the agent.
 */
export class Intake {
  readonly #asked = new Set<unknown>();
  #open = 0;

  /** Notes what is sent to the agent, once it has taken it. */
  sent({ method }: Message): void {
    if (method === undefined) this.#open--;
  }

  /** Notes what is about to be sent to the agent. */
  sending({ method, id }: Message): void {
    if (method !== undefined && id !== undefined) this.#asked.add(id);
  }

  /** Whether a message is one to be passed on; `too_many` where the agent asks, and takes no answers. */
  takes(message: Message): boolean | 'too_many' {
    const { method } = message;
    const hasId = Object.hasOwn(message, 'id');
    if (method === undefined) return hasId && this.#asked.delete(message['id']);
    if (typeof method !== 'string') return false;
    if (!hasId) return method === CANCEL;
    return ++this.#open <= MOST_OPEN ? true : 'too_many';
  }
}
