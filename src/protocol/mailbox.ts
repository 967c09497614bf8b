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

/**
 * How far an actor and channel are settled (protocol.md §5): everything up to `commit`, and the
 * messages in `settled` of what was added after it.
 */
export interface Cursor {
  /** Empty as long as the first scan is not settled. */
  commit: string;
  settled: string[];
}

/** `running` until the outcome is recorded and published; `held` while its content is missing. */
export type DeliveryState = 'pending' | 'running' | 'awaiting_content' | 'settled';

interface Item extends Delivery {
  /** The commit at which the scan started, and the scan's number: a cursor may not pass it yet. */
  since: string;
  scan: number;
  state: DeliveryState;
  /** Whether it becomes pending again once it is settled. */
  again?: boolean;
}

/**
 * The mailboxes of one dispatcher: what is pending, running and settled per actor and channel.
 *
 * A delivery is `pending` until a batch takes it, `running` until its outcome is recorded, then
 * `settled`. If its content is missing, when it is found or when it is to be delivered, it is
 * `held`, and after that `pending` or `settled`. The cursor of a mailbox is the start of the scan
 * that found its oldest unsettled delivery, so it never passes one; if there is none, the cursor is
 * the last scanned commit.
 */
export class Mailboxes {
  #boxes = new Map<string, Item[]>();
  #scanned: string | undefined;
  #scan = 0;

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
    this.#scan++;
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
      box.push({ ...delivery, since, scan: this.#scan, state: lacks ? 'awaiting_content' : state });
    }
    for (const key of touched.keys()) this.#dropIfSettled(key);
  }

  /** Forgets what is settled: after its history was rewritten, some of it may be open again. */
  forgetSettled(): void {
    for (const [key, box] of this.#boxes) {
      const left = box.filter(({ state }) => state !== 'settled');
      if (left.length > 0) this.#boxes.set(key, left);
      else this.#boxes.delete(key);
    }
  }

  /** A settled message is back on the bus and open: the next scan that finds it counts. */
  reopen({ actor, channel, relPath }: Delivery): void {
    const key = keyOf({ actor, channel });
    const box = this.#boxes.get(key) ?? [];
    const left = box.filter((one) => one.relPath !== relPath || one.state !== 'settled');
    if (left.length < box.length) this.#boxes.set(key, left);
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
      this.reopen(delivery);
      const box = this.#box(delivery);
      const at = box.findIndex(({ relPath }) => relPath === delivery.relPath);
      const found = stateOf(delivery) === 'running' ? 'running' : 'pending';
      const { scan, state } = box[at] ?? { scan: this.#scan, state: found };
      const again = state === 'running';
      // It replaces the earlier delivery, because the messages it refers to may be found now.
      box.splice(at < 0 ? box.length : at, 1, { ...delivery, since: '', scan, state, again });
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

  settle(actor: string, channel: string, relPaths: readonly string[]): void {
    this.#change(actor, channel, relPaths, 'settled');
    this.#dropIfSettled(keyOf({ actor, channel }));
  }

  /** The cursor of a mailbox; undefined before the first scan. */
  cursor(actor: string, channel: string): Cursor | undefined {
    const box = this.#boxes.get(keyOf({ actor, channel })) ?? [];
    const open = box.filter(({ state }) => state !== 'settled');
    const oldest = open.find(({ since }) => since === '') ?? open[0];
    if (oldest === undefined) {
      return this.#scanned === undefined ? undefined : { commit: this.#scanned, settled: [] };
    }
    const settled = box.filter(({ state, scan }) => state === 'settled' && scan >= oldest.scan);
    return { commit: oldest.since, settled: settled.map(({ relPath }) => relPath) };
  }

  /** The unsettled messages of a channel, for any actor or for one. */
  unsettled(channel: string, actor?: string): string[] {
    const items = [...this.#boxes.values()].flat();
    return items
      .filter((item) => item.channel === channel && (actor ?? item.actor) === item.actor)
      .filter(({ state }) => state !== 'settled')
      .map(({ relPath }) => relPath);
  }

  /** The channels in which an actor has unsettled deliveries. */
  lagging(actor: string): string[] {
    return [...this.#boxes.values()].flatMap((box) => {
      const first = box[0];
      return first?.actor === actor ? [first.channel] : [];
    });
  }

  /** The number of deliveries that are pending, running and held. */
  counts(): { pending: number; running: number; awaiting: number } {
    const items = [...this.#boxes.values()].flat();
    const count = (wanted: Item['state']): number =>
      items.filter(({ state }) => state === wanted).length;
    const awaiting = count('awaiting_content');
    return { pending: count('pending'), running: count('running'), awaiting };
  }

  #change(actor: string, channel: string, relPaths: readonly string[], state: Item['state']): void {
    const wanted = new Set(relPaths);
    for (const item of this.#box({ actor, channel }))
      if (wanted.has(item.relPath))
        Object.assign(item, { state: item.again === true ? 'pending' : state, again: false });
  }

  #dropIfSettled(key: string): void {
    if (this.#boxes.get(key)?.every(({ state }) => state === 'settled') === true)
      this.#boxes.delete(key);
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
