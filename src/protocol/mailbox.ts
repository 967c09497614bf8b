import type { Located, Message } from './message.ts';

/** A message that wakes one actor in one channel, and the scan that found it. */
export interface Delivery extends Located {
  actor: string;
  channel: string;
  /** Size of its body, which is read again when it is delivered. */
  bytes?: number;
  /**
   * Set if it is an answer that the actor met with silence and that was missing from the bus since: delivered again
   * once no other answer is due.
   */
  rest?: boolean;
  /** Set if it was handled before, while its question was missing: nothing runs if the question is answered. */
  dealt?: true;
  /** Set if its content is missing from this clone, so that its actors are not known. */
  unread?: true;
}

/** The replacement for a message whose content is missing. */
export const UNREAD: Message = {
  from: '',
  to: [],
  type: 'text',
  timestamp: '',
  re: [],
  cause: [],
  extra: {},
  body: '',
};

/** `running` until the outcome is recorded and published; `awaiting_content` while its content is missing. */
export type DeliveryState = 'pending' | 'running' | 'awaiting_content' | 'settled';

type OpenState = Exclude<DeliveryState, 'settled'>;

interface Item extends Delivery {
  /** The commit at which the scan started: a cursor may not pass it yet. */
  since: string;
  state: OpenState;
  /** Whether it becomes pending again once it is settled. */
  again?: boolean;
}

/** The open deliveries of one actor in one channel, in the order in which they were found. */
class Box {
  readonly actor: string;
  readonly channel: string;
  readonly items = new Map<string, Item>();
  readonly counts: Record<OpenState, number> = { pending: 0, running: 0, awaiting_content: 0 };
  /** Number of items that a scan after a restart would not find. */
  #unscanned = 0;
  #pending: Item[] | undefined;

  constructor({ actor, channel }: { actor: string; channel: string }) {
    this.actor = actor;
    this.channel = channel;
  }

  /** Adds an item, or replaces an earlier one for the same message. */
  put(item: Item): void {
    const earlier = this.items.get(item.relPath);
    if (earlier !== undefined) this.#count(earlier, -1);
    this.items.set(item.relPath, item);
    this.#count(item, 1);
  }

  remove(item: Item): void {
    this.items.delete(item.relPath);
    this.#count(item, -1);
  }

  change(item: Item, to: Partial<Item>): void {
    this.#count(item, -1);
    this.#count(Object.assign(item, to), 1);
  }

  /** Returns those of some messages that are in a state. */
  those(relPaths: readonly string[], state: OpenState): Item[] {
    const found = [...new Set(relPaths)].flatMap((path) => this.items.get(path) ?? []);
    return found.filter((item) => item.state === state);
  }

  /** The pending items; a new list after each change. */
  get pending(): Item[] {
    this.#pending ??= [...this.items.values()].filter(({ state }) => state === 'pending');
    return this.#pending;
  }

  /** Start of the scan that found the oldest item. */
  get since(): string | undefined {
    if (this.#unscanned > 0) return '';
    for (const { since } of this.items.values()) return since;
    return undefined;
  }

  #count({ state, since }: Item, by: 1 | -1): void {
    this.counts[state] += by;
    if (since === '') this.#unscanned += by;
    this.#pending = undefined;
  }
}

/**
 * The mailboxes of one dispatcher: the pending and running deliveries per actor and channel.
 *
 * A delivery is `pending` until a batch takes it, `running` until its outcome is recorded, and then it leaves. If its
 * content is missing, when it is found or when it is to be delivered, it is `awaiting_content`, and after that
 * `pending`, or it leaves. The cursor of a mailbox is the start of the scan that found its oldest unsettled delivery,
 * so it never passes one; if there is none, the cursor is the last scanned commit.
 */
export class Mailboxes {
  readonly #boxes = new Map<string, Box>();
  #scanned: string | undefined;

  /**
   * Adds the deliveries that one scan from `since` to `tip` found, in commit order.
   *
   * @param stateOf for scans after a restart: the known state of a delivery
   */
  addScan(
    since: string,
    tip: string,
    deliveries: readonly Delivery[],
    stateOf: (delivery: Delivery) => DeliveryState = () => 'pending',
  ): void {
    this.#scanned = tip;
    for (const delivery of deliveries) {
      if (this.#boxes.get(keyOf(delivery))?.items.has(delivery.relPath) === true) continue;
      const state = stateOf(delivery);
      const lacks = state === 'pending' && delivery.unread === true;
      if (state !== 'settled')
        this.#put({ ...delivery, since, state: lacks ? 'awaiting_content' : state });
    }
  }

  /**
   * Adds deliveries that have to be repeated, whatever their outcome was; one with a recorded outcome is delivered once
   * that is published. No scan after a restart finds them, so the cursor requests a full scan.
   *
   * @param stateOf as for {@link addScan}: `running` for deliveries with a recorded outcome
   */
  addAgain(
    deliveries: readonly Delivery[],
    stateOf: (delivery: Delivery) => DeliveryState = () => 'pending',
  ): void {
    for (const delivery of deliveries) {
      const found = stateOf(delivery) === 'running' ? 'running' : 'pending';
      const { state } = this.#boxes.get(keyOf(delivery))?.items.get(delivery.relPath) ?? {
        state: found,
      };
      // It replaces the earlier delivery, because the messages it refers to may be found now.
      this.#put({ ...delivery, since: '', state, again: state === 'running' });
    }
  }

  /** The last commit scanned; undefined before the first scan. */
  get scanned(): string | undefined {
    return this.#scanned;
  }

  /** Returns the mailboxes with pending deliveries. */
  waiting(): { actor: string; channel: string; messages: Delivery[] }[] {
    return [...this.#boxes.values()].flatMap(({ actor, channel, counts, pending }) =>
      counts.pending === 0 ? [] : [{ actor, channel, messages: pending }],
    );
  }

  /** Takes the pending ones of some messages from a mailbox, as one batch for one run. */
  take(actor: string, channel: string, relPaths: readonly string[]): Delivery[] {
    return this.#change({ actor, channel }, relPaths, 'pending', 'running');
  }

  /** Holds deliveries that a run received and whose content turned out to be missing. */
  awaitContent(actor: string, channel: string, relPaths: readonly string[]): void {
    this.#change({ actor, channel }, relPaths, 'running', 'awaiting_content');
  }

  /** Returns the deliveries whose content is missing. */
  awaitingContent(): Delivery[] {
    const boxes = [...this.#boxes.values()].filter(({ counts }) => counts.awaiting_content > 0);
    return boxes.flatMap(({ items }) =>
      [...items.values()].filter(({ state }) => state === 'awaiting_content'),
    );
  }

  /** Releases a held delivery whose content was found, and which wakes the actor. */
  release({ message, ...of }: Delivery): void {
    for (const item of this.#change(of, [of.relPath], 'awaiting_content', 'pending'))
      item.message = message;
  }

  /**
   * Reverts `take` for a run without an outcome; deliveries settled before (a retry) stay settled.
   */
  giveBack(actor: string, channel: string, relPaths: readonly string[]): void {
    this.#change({ actor, channel }, relPaths, 'running', 'pending');
  }

  /** Removes deliveries whose outcome is on record, except those to be repeated. */
  settle(actor: string, channel: string, relPaths: readonly string[]): void {
    const box = this.#boxes.get(keyOf({ actor, channel }));
    if (box === undefined) return;
    for (const path of relPaths) {
      const item = box.items.get(path);
      if (item?.again === true) box.change(item, { state: 'pending', again: false });
      else if (item !== undefined) box.remove(item);
    }
    if (box.items.size === 0) this.#boxes.delete(keyOf(box));
  }

  /**
   * Returns the cursors of an actor (protocol.md §5), by channel: the commit after which every unsettled delivery was
   * added; empty as long as the first scan is not settled. In other channels it is {@link scanned}.
   */
  cursors(actor: string): Record<string, string> {
    const cursors: Record<string, string> = {};
    for (const box of this.#boxes.values())
      if (box.actor === actor && box.since !== undefined) cursors[box.channel] = box.since;
    return cursors;
  }

  /** Returns the unsettled messages of a channel, for any actor or for one. */
  unsettled(channel: string, actor?: string): string[] {
    return [...this.#boxes.values()].flatMap((box) =>
      box.channel === channel && (actor ?? box.actor) === box.actor ? [...box.items.keys()] : [],
    );
  }

  /** Returns the numbers of deliveries that are pending, running and awaiting their content. */
  counts(): { pending: number; running: number; awaiting: number } {
    const all = { pending: 0, running: 0, awaiting: 0 };
    for (const { counts } of this.#boxes.values()) {
      all.pending += counts.pending;
      all.running += counts.running;
      all.awaiting += counts.awaiting_content;
    }
    return all;
  }

  #put(item: Item): void {
    const key = keyOf(item);
    const box = this.#boxes.get(key) ?? new Box(item);
    this.#boxes.set(key, box);
    box.put(item);
  }

  #change(
    of: { actor: string; channel: string },
    relPaths: readonly string[],
    from: OpenState,
    to: OpenState,
  ): Item[] {
    const box = this.#boxes.get(keyOf(of));
    const items = box?.those(relPaths, from) ?? [];
    for (const item of items) box?.change(item, { state: to });
    return items;
  }
}

function keyOf({ actor, channel }: { actor: string; channel: string }): string {
  return `${actor}/${channel}`;
}
