import type { Cursor } from '../protocol/mailbox.ts';
import { isRecord, readJson, writeDurably } from './files.ts';

/** One actor's cursors: `through` holds for every channel that is not listed. */
export interface ActorCursors {
  through: string;
  channels: Record<string, Cursor>;
}

/**
 * Cursors per actor and channel (protocol.md §5), in one file. Most channels of an actor are
 * settled up to the same commit, so only those that lag are written out.
 */
export class Cursors {
  readonly #path: string;
  #written: string | undefined;
  #alias: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Says whose mail the cursors are for, before they are loaded.
   *
   * @returns whether that was another host until now: what was passed over as its mail, or as that of a
   *   third one, may be for this one, so that its cursors do not count
   */
  moveTo(alias: string): boolean {
    const isMoved = this.#alias !== undefined && this.#alias !== alias;
    this.#alias = alias;
    return isMoved;
  }

  /** Actor → cursors; a file that cannot be read, or is for another host, counts as none. */
  async load(): Promise<Map<string, ActorCursors>> {
    const { value } = (await readJson(this.#path)) ?? {};
    const { alias = this.#alias, actors } = isRecord(value) ? value : {};
    const isOther = this.#alias !== undefined && alias !== this.#alias;
    const cursors = new Map<string, ActorCursors>();
    if (isOther || !isRecord(actors)) return cursors;
    for (const [actor, value] of Object.entries(actors)) {
      if (isActorCursors(value)) cursors.set(actor, value);
    }
    return cursors;
  }

  /** The newest commit that this machine has seen or made on the bus; undefined when none is known. */
  async newestSeen(): Promise<string | undefined> {
    const { value } = (await readJson(this.#path)) ?? {};
    const seen = isRecord(value) ? value['held'] : undefined;
    return isOid(seen) && seen !== '' ? (seen as string) : undefined;
  }

  /**
   * Writes the cursors durably, if they differ from what this process wrote last.
   *
   * @param newestSeen as {@link newestSeen} gives it back; `held` in the file
   */
  async save(cursors: ReadonlyMap<string, ActorCursors>, newestSeen?: string): Promise<void> {
    const of = {
      ...(this.#alias && { alias: this.#alias }),
      ...(newestSeen && { held: newestSeen }),
    };
    const content = { version: 1, ...of, actors: Object.fromEntries(cursors) };
    const text = `${JSON.stringify(content, undefined, 1)}\n`;
    if (text === this.#written) return;
    await writeDurably(this.#path, text);
    this.#written = text;
  }
}

/** The cursor of one channel, or undefined for an actor that never ran here. */
export function cursorOf(cursors: ActorCursors | undefined, channel: string): Cursor | undefined {
  if (cursors === undefined) return undefined;
  const lagging = Object.hasOwn(cursors.channels, channel) ? cursors.channels[channel] : undefined;
  return lagging ?? { commit: cursors.through, settled: [] };
}

function isActorCursors(value: unknown): value is ActorCursors {
  return (
    isRecord(value) &&
    isOid(value['through']) &&
    isRecord(value['channels']) &&
    Object.values(value['channels']).every(
      (cursor) => isRecord(cursor) && isOid(cursor['commit']) && Array.isArray(cursor['settled']),
    )
  );
}

/** Empty for a channel whose first scan is not settled yet. */
function isOid(value: unknown): boolean {
  return typeof value === 'string' && /^([0-9a-f]{40,64})?$/.test(value);
}
