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

interface Item extends Delivery {
  /** The commit at which the scan started: a cursor may not pass it yet. */
  since: string;
  state: Exclude<DeliveryState, 'settled'>;
  /** Whether it becomes pending again once it is settled. */
  again?: boolean;
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
  #boxes = new Map<string, Item[]>();
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
    const touched = new Map<string, Set<string>>();
    for (const delivery of deliveries) {
      const box = this.#box(delivery);
      const key = keyOf(delivery);
      const known = touched.get(key) ?? new Set(box.map(({ relPath }) => relPath));
      touched.set(key, known);
      if (known.has(delivery.relPath)) continue;
      known.add(delivery.relPath);
      const state = stateOf(delivery);
      const lacks = state === 'pending' && delivery.unread === true;
      if (state !== 'settled')
        box.push({ ...delivery, since, state: lacks ? 'awaiting_content' : state });
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
      const box = this.#box(delivery);
      const at = box.findIndex(({ relPath }) => relPath === delivery.relPath);
      const found = stateOf(delivery) === 'running' ? 'running' : 'pending';
      const { state } = box[at] ?? { state: found };
      const again = state === 'running';
      // It replaces the earlier delivery, because the messages it refers to may be found now.
      box.splice(at < 0 ? box.length : at, 1, { ...delivery, since: '', state, again });
    }
  }

  /** The last commit scanned; undefined before the first scan. */
  get scanned(): string | undefined {
    return this.#scanned;
  }

  /** The mailboxes with pending deliveries. */
  waiting(): { actor: string; channel: string; messages: Delivery[] }[] {
    return [...this.#boxes.values()].flatMap((box) => {
      const messages = box.filter(({ state }) => state === 'pending');
      const first = messages[0];
      return first === undefined ? [] : [{ actor: first.actor, channel: first.channel, messages }];
    });
  }

  /** Takes those of the messages from a mailbox that are pending, as one batch for one run. */
  take(actor: string, channel: string, relPaths: readonly string[]): Delivery[] {
    const wanted = new Set(relPaths);
    const batch = this.#box({ actor, channel }).filter(
      ({ state, relPath }) => state === 'pending' && wanted.has(relPath),
    );
    for (const item of batch) item.state = 'running';
    return batch;
  }

  /** Holds deliveries that a run received and whose content turned out to be missing. */
  awaitContent(actor: string, channel: string, relPaths: readonly string[]): void {
    const wanted = new Set(relPaths);
    for (const item of this.#box({ actor, channel }))
      if (wanted.has(item.relPath) && item.state === 'running') item.state = 'awaiting_content';
  }

  /** Deliveries whose content is missing. */
  awaitingContent(): Delivery[] {
    return [...this.#boxes.values()].flat().filter(({ state }) => state === 'awaiting_content');
  }

  /** Called when the content of a held delivery was found, and it wakes the actor. */
  release({ actor, channel, relPath, message }: Delivery): void {
    const item = this.#box({ actor, channel }).find((one) => one.relPath === relPath);
    if (item?.state === 'awaiting_content') Object.assign(item, { message, state: 'pending' });
  }

  /**
   * Reverts `take` for a run without an outcome; deliveries settled before (a retry) stay settled.
   */
  giveBack(actor: string, channel: string, relPaths: readonly string[]): void {
    const wanted = new Set(relPaths);
    for (const item of this.#box({ actor, channel }))
      if (wanted.has(item.relPath) && item.state === 'running') item.state = 'pending';
  }

  /** Removes deliveries whose outcome is on record, but for those to be made again. */
  settle(actor: string, channel: string, relPaths: readonly string[]): void {
    const wanted = new Set(relPaths);
    const left = this.#box({ actor, channel }).filter(
      ({ relPath, again }) => !wanted.has(relPath) || again === true,
    );
    for (const item of left)
      if (wanted.has(item.relPath)) Object.assign(item, { state: 'pending', again: false });
    if (left.length > 0) this.#boxes.set(keyOf({ actor, channel }), left);
    else this.#boxes.delete(keyOf({ actor, channel }));
  }

  /**
   * The cursors of an actor (protocol.md §5), by channel: the commit after which everything was added that is
   * not settled; empty as long as the first scan is not settled. In other channels it is {@link scanned}.
   */
  cursors(actor: string): Record<string, string> {
    const cursors: Record<string, string> = {};
    for (const open of this.#boxes.values()) {
      const oldest = open.find(({ since }) => since === '') ?? open[0];
      if (oldest?.actor === actor) cursors[oldest.channel] = oldest.since;
    }
    return cursors;
  }

  /** The unsettled messages of a channel, for any actor or for one. */
  unsettled(channel: string, actor?: string): string[] {
    const items = [...this.#boxes.values()].flat();
    return items
      .filter((item) => item.channel === channel && (actor ?? item.actor) === item.actor)
      .map(({ relPath }) => relPath);
  }

  /** The number of deliveries that are pending, running and held. */
  counts(): { pending: number; running: number; awaiting: number } {
    const items = [...this.#boxes.values()].flat();
    const count = (wanted: Item['state']): number =>
      items.filter(({ state }) => state === wanted).length;
    const awaiting = count('awaiting_content');
    return { pending: count('pending'), running: count('running'), awaiting };
  }

  #box(of: { actor: string; channel: string }): Item[] {
    const key = keyOf(of);
    const box = this.#boxes.get(key) ?? [];
    this.#boxes.set(key, box);
    return box;
  }
}

function keyOf({ actor, channel }: { actor: string; channel: string }): string {
  return `${actor}/${channel}`;
}
