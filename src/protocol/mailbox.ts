import type { Located, Message } from './message.ts';

/** A message that wakes one actor in one channel, and the scan that found it. */
export interface Delivery extends Located {
  actor: string;
  channel: string;
  /** The size of its body, which is read again when it is delivered. */
  bytes?: number;
  /** An answer met with silence that was gone since: delivered again once no other answer is due. */
  rest?: boolean;
  /** Handled before, while its question was missing: nothing runs if the question is answered. */
  dealt?: true;
  /** Its content is missing from this clone, so that it is not known whom it wakes. */
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

/** `running` until the outcome is recorded and published; `held` while its content is missing. */
export type DeliveryState = 'pending' | 'running' | 'awaiting_content' | 'settled';

type OpenState = Exclude<DeliveryState, 'settled'>;

interface Item extends Delivery {
  /** The commit at which the scan started: a cursor may not pass it yet. */
  since: string;
  state: OpenState;
  /** Whether it becomes pending again once it is settled. */
  again?: boolean;
}

/** What is open for one actor in one channel, in the order in which it was found. */
class Box {
  readonly actor: string;
  readonly channel: string;
  readonly items = new Map<string, Item>();
  readonly counts: Record<OpenState, number> = { pending: 0, running: 0, awaiting_content: 0 };
  /** How many of the items no scan of news finds after a restart. */
  #unscanned = 0;
  #pending: Item[] | undefined;

  constructor({ actor, channel }: { actor: string; channel: string }) {
    this.actor = actor;
    this.channel = channel;
  }

  /** Adds an item, or puts it in the place of an earlier one for the same message. */
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

  /** Those of some messages that are in a state. */
  those(relPaths: readonly string[], state: OpenState): Item[] {
    const found = [...new Set(relPaths)].flatMap((path) => this.items.get(path) ?? []);
    return found.filter((item) => item.state === state);
  }

  /** A new list after each change. */
  get pending(): Item[] {
    this.#pending ??= [...this.items.values()].filter(({ state }) => state === 'pending');
    return this.#pending;
  }

  /** The start of the scan that found the oldest item. */
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
 * The mailboxes of one dispatcher: what is pending and running per actor and channel.
 *
 * A delivery is `pending` until a batch takes it, `running` until its outcome is recorded, and then it
 * leaves. If its content is missing, when it is found or when it is to be delivered, it is
 * `held`, and after that `pending`, or it leaves. The cursor of a mailbox is the start of the scan
 * that found its oldest unsettled delivery, so it never passes one; if there is none, the cursor is
 * the last scanned commit.
 */
export class Mailboxes {
  readonly #boxes = new Map<string, Box>();
  #scanned: string | undefined;

  /**
   * Adds what one scan from `since` to `tip` found, in commit order.
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
   * Adds deliveries that have to be made again, whatever their outcome was; one with a recorded
   * outcome is delivered once that is published. No scan of news finds them after a restart, so the
   * cursor requests a look at everything.
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

  /** The mailboxes with pending deliveries. */
  waiting(): { actor: string; channel: string; messages: Delivery[] }[] {
    return [...this.#boxes.values()].flatMap(({ actor, channel, counts, pending }) =>
      counts.pending === 0 ? [] : [{ actor, channel, messages: pending }],
    );
  }

  /** Takes those of the messages from a mailbox that are pending, as one batch for one run. */
  take(actor: string, channel: string, relPaths: readonly string[]): Delivery[] {
    return this.#change({ actor, channel }, relPaths, 'pending', 'running');
  }

  /** Holds deliveries that a run received and whose content turned out to be missing. */
  awaitContent(actor: string, channel: string, relPaths: readonly string[]): void {
    this.#change({ actor, channel }, relPaths, 'running', 'awaiting_content');
  }

  /** Deliveries whose content is missing. */
  awaitingContent(): Delivery[] {
    const boxes = [...this.#boxes.values()].filter(({ counts }) => counts.awaiting_content > 0);
    return boxes.flatMap(({ items }) =>
      [...items.values()].filter(({ state }) => state === 'awaiting_content'),
    );
  }

  /** Called when the content of a held delivery was found, and it wakes the actor. */
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

  /** Removes deliveries whose outcome is on record, but for those to be made again. */
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
   * The cursors of an actor (protocol.md §5), by channel: the commit after which everything was added that is
   * not settled; empty as long as the first scan is not settled. In other channels it is {@link scanned}.
   */
  cursors(actor: string): Record<string, string> {
    const cursors: Record<string, string> = {};
    for (const box of this.#boxes.values())
      if (box.actor === actor && box.since !== undefined) cursors[box.channel] = box.since;
    return cursors;
  }

  /** The unsettled messages of a channel, for any actor or for one. */
  unsettled(channel: string, actor?: string): string[] {
    return [...this.#boxes.values()].flatMap((box) =>
      box.channel === channel && (actor ?? box.actor) === box.actor ? [...box.items.keys()] : [],
    );
  }

  /** The number of deliveries that are pending, running and held. */
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
