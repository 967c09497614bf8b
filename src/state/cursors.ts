import { Cell, Rows } from '../store/rows.ts';

/**
 * The cursors of one actor, the commits up to which everything is settled: `through` for every channel
 * that is not listed.
 */
export interface ActorCursors {
  through: string;
  channels: Record<string, string>;
}

/** The cursors of all actors, stored under these names. */
interface Stored {
  /** The host whose mail they are for. */
  alias?: string;
  /** The newest commit that this machine has seen or made on the bus. */
  newest?: string;
  actors: Record<string, ActorCursors>;
}

/**
 * Cursors per actor and channel (protocol.md §5), in one row. Most channels of an actor are settled up to
 * the same commit, so only those that lag behind are listed.
 */
export class Cursors {
  readonly #stored: Cell<Stored>;
  readonly #moves: Rows<{ id: string; move: string }>;
  #written: string | undefined;
  #alias: string | undefined;

  /** @param root the state directory */
  constructor(root: string) {
    this.#stored = new Cell(root, 'cursors');
    this.#moves = new Rows(root, 'last-move');
  }

  /**
   * Sets the host that the cursors are for, before they are loaded.
   *
   * @returns whether that was another host until now: mail skipped as that host's, or as a third one's,
   *   may be for this one, so that its cursors do not count
   */
  moveTo(alias: string): boolean {
    const isMoved = this.#alias !== undefined && this.#alias !== alias;
    this.#alias = alias;
    return isMoved;
  }

  /** Loads the cursors by actor; those of another host count as none. */
  async load(): Promise<Map<string, ActorCursors>> {
    const { alias = this.#alias, actors = {} } = (await this.#stored.get()) ?? {};
    const isOther = this.#alias !== undefined && alias !== this.#alias;
    return new Map(isOther ? [] : Object.entries(actors));
  }

  /** Returns the newest commit that this machine has seen or made on the bus; undefined when none is known. */
  async newestSeen(): Promise<string | undefined> {
    return (await this.#stored.get())?.newest;
  }

  /** Returns the last move of a remote branch for which this machine has searched for lost messages. */
  async lastMove(branch: string): Promise<string | undefined> {
    return (await this.#moves.get(branch))?.move;
  }
  setLastMove(branch: string, move: string): Promise<void> {
    return this.#moves.put({ id: branch, move });
  }

  /**
   * Writes the cursors durably, if they differ from those that this process wrote last.
   *
   * @param newest the value that {@link newestSeen} returns
   */
  async save(cursors: ReadonlyMap<string, ActorCursors>, newest?: string): Promise<void> {
    const of = { ...(this.#alias && { alias: this.#alias }), ...(newest && { newest }) };
    const stored = { ...of, actors: Object.fromEntries(cursors) };
    const text = JSON.stringify(stored);
    if (text === this.#written) return;
    await this.#stored.set(stored);
    this.#written = text;
  }
}

/** Returns the cursor of one channel; undefined for an actor that never ran here. */
export function cursorOf(cursors: ActorCursors | undefined, channel: string): string | undefined {
  if (cursors === undefined) return undefined;
  const { channels, through } = cursors;
  return (Object.hasOwn(channels, channel) ? channels[channel] : undefined) ?? through;
}
