import { passed } from '../crash-points.ts';
import { Mailboxes, type Delivery, type DeliveryState } from '../protocol/mailbox.ts';
import { unanswered } from '../protocol/pending.ts';
import { cursorOf, type ActorCursors, type Cursors } from '../state/cursors.ts';
import type { DeadLetters } from '../state/dead-letters.ts';
import type { Outbox, OutboxEntry } from '../state/outbox.ts';
import type { Transport } from '../transport/transport.ts';
import type { Archive } from './archive.ts';
import { continuity } from './epochs.ts';
import type { Log } from './log.ts';
import { ScanReports } from './scan-reports.ts';
import { scanAdded, scanAgain, scanUnanswered, type Scan } from './scan.ts';

export interface DeliveriesParts {
  transport: Transport;
  archive: Archive;
  cursors: Cursors;
  outbox: Outbox;
  deadLetters: DeadLetters;
  log: Log;
  /** Told of every outbox entry that settles a delivery found at the start. */
  expect: (entry: OutboxEntry) => void;
  /** New actors start at the tip instead of at what is unanswered. */
  fromNow: boolean;
}

/** Of many held messages, this many are looked for at a time. */
const MAX_READ_AGAIN = 100;

/**
 * What is to be delivered on this host: mailboxes in memory, cursors on disk.
 *
 * Crash order. A delivery leaves its mailbox (`settle`) only after its outcome is durable: reply
 * on the remote, or dead letter written, or silence. Cursors are computed from the mailboxes and
 * saved after that. So a crash before the save only makes a later start look again at messages
 * after the older cursor, where `#known` recognises what the outbox, the dead letters and the
 * actor's own answers say is handled.
 */
export class Deliveries {
  readonly mailboxes = new Mailboxes();
  readonly #parts: DeliveriesParts;
  readonly #active = new Set<string>();
  /** Settled before their mailbox was there, by a push that the first scan may be too early to see. */
  readonly #early = new Set<string>();
  readonly #reports: ScanReports;
  #foreseen: OutboxEntry[] = [];
  #stored: Map<string, ActorCursors> | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
    this.#reports = new ScanReports(parts.log);
  }

  /** Before the first fetch: what another process pushes after it, and clears away, was recorded too. */
  async foresee(): Promise<void> {
    if (this.mailboxes.scanned === undefined) this.#foreseen = await this.#parts.outbox.all();
  }

  /** Serves exactly these actors from now on; new ones are scanned for up to `tip`. */
  async admit(host: string, actors: readonly string[], tip: string): Promise<void> {
    for (const actor of this.#active) if (!actors.includes(actor)) this.#active.delete(actor);
    const fresh = actors.filter((actor) => !this.#active.has(actor));
    if (fresh.length === 0) return;
    this.#stored ??= await this.#parts.cursors.load();
    const stateOf = await this.#known();
    for (const actor of fresh) await this.#resume(host, actor, tip, stateOf);
    for (const actor of fresh) this.#active.add(actor);
    passed('scanned');
  }

  /** Takes in what was added since the last scan. */
  async advance(host: string, tip: string): Promise<Scan | undefined> {
    const from = this.mailboxes.scanned;
    if (from === undefined || from === tip) return undefined;
    const audience = { host, actors: [...this.#active] };
    const [history, scan] = await Promise.all([
      continuity(this.#parts.transport, from, tip),
      scanAdded(this.#parts, audience, from, tip),
    ]);
    if (history === 'archived') this.#reports.archived(tip, scan);
    if (history === 'rewritten') {
      this.#parts.log('cursor_lost', {
        cursor: from,
        tip,
        reason: 'the history was rewritten; only files added by it are delivered',
      });
    }
    this.mailboxes.addScan(from, tip, scan.deliveries);
    passed('scanned');
    this.#reports.say(scan);
    return scan;
  }

  /**
   * Looks again for the content of held messages, which keep the cursors back: a partial clone
   * fetches it once the remote answers, an operator mends a damaged one.
   */
  async readAgain(host: string, tip: string): Promise<void> {
    const held = this.mailboxes.held().slice(0, MAX_READ_AGAIN);
    const places = new Map(held.map((item) => [`${item.channel}/${item.relPath}`, item]));
    const audience = { host, actors: [...this.#active] };
    const scan = await scanAgain(this.#parts, audience, tip, [...places.values()]);
    for (const { channel, relPath } of scan.unread) places.delete(`${channel}/${relPath}`);
    for (const delivery of scan.deliveries) this.mailboxes.release(delivery);
    for (const { actor, channel, relPath } of this.mailboxes.held()) {
      if (places.has(`${channel}/${relPath}`)) this.mailboxes.settle(actor, channel, [relPath]);
    }
    this.#reports.say(scan);
  }

  /** Marks deliveries as settled and moves the cursors; durable when it returns. */
  async settle(actor: string, channel: string, relPaths: readonly string[]): Promise<void> {
    if (!this.#active.has(actor))
      for (const relPath of relPaths) this.#early.add(keyOf(actor, channel, relPath));
    this.mailboxes.settle(actor, channel, relPaths);
    await this.save();
  }

  /** Writes the cursors, one write at a time. */
  save(): Promise<void> {
    const write = async (): Promise<void> => {
      const through = this.mailboxes.scanned;
      if (through === undefined) return;
      const cursors = new Map(this.#stored ?? []);
      for (const actor of this.#active) {
        const channels: ActorCursors['channels'] = {};
        for (const channel of this.mailboxes.lagging(actor)) {
          const cursor = this.mailboxes.cursor(actor, channel);
          if (cursor !== undefined) channels[channel] = cursor;
        }
        cursors.set(actor, { through, channels });
      }
      this.#stored = cursors;
      await this.#parts.cursors.save(cursors);
    };
    this.#saving = this.#saving.then(write, write);
    return this.#saving;
  }

  /** Delivers to one actor what was added since its cursors, or what is unanswered without one. */
  async #resume(
    host: string,
    actor: string,
    tip: string,
    stateOf: (delivery: Delivery) => DeliveryState,
  ): Promise<void> {
    const stored = this.#stored?.get(actor);
    if (stored === undefined) {
      const scan = this.#parts.fromNow
        ? undefined
        : await scanUnanswered(this.#parts, { host, actors: [actor] }, tip);
      this.mailboxes.addScan('', tip, scan?.deliveries ?? [], stateOf);
      if (scan) this.#reports.say(scan);
      return;
    }
    const commits = new Set([
      stored.through,
      ...Object.values(stored.channels).map(({ commit }) => commit),
    ]);
    for (const commit of commits) {
      const { scan, since } = await this.#catchUp(host, actor, commit, tip);
      this.#reports.say(scan);
      const ours = scan.deliveries.filter(
        ({ channel }) => cursorOf(stored, channel)?.commit === commit,
      );
      const open = since === '' ? new Set(ours) : await this.#stillOpen(ours, scan, actor, tip);
      this.mailboxes.addScan(since, tip, ours, (delivery) =>
        !open.has(delivery) ||
        cursorOf(stored, delivery.channel)?.settled.includes(delivery.relPath) === true
          ? 'settled'
          : stateOf(delivery),
      );
    }
  }

  async #catchUp(
    host: string,
    actor: string,
    commit: string,
    tip: string,
  ): Promise<{ scan: Scan; since: string }> {
    const audience = { host, actors: [actor] };
    if (commit === '') return { scan: await scanUnanswered(this.#parts, audience, tip), since: '' };
    const history = await continuity(this.#parts.transport, commit, tip);
    if (history !== 'rewritten') {
      const scan = await scanAdded(this.#parts, audience, commit, tip);
      if (history === 'archived') this.#reports.archived(tip, scan);
      return { scan, since: commit };
    }
    this.#parts.log('cursor_lost', {
      actor,
      cursor: commit,
      tip,
      reason: 'the commit is not in the history; what is unanswered is delivered',
    });
    return { scan: await scanUnanswered(this.#parts, audience, tip), since: '' };
  }

  /** Of what was added since a cursor: what this host has not answered, as far as the record shows. */
  async #stillOpen(
    waking: readonly Delivery[],
    scan: Scan,
    actor: string,
    tip: string,
  ): Promise<Set<Delivery>> {
    const open = new Set<Delivery>();
    for (const channel of new Set(waking.map((delivery) => delivery.channel))) {
      const ours = waking.filter((delivery) => delivery.channel === channel);
      // A task handed on settles nothing: the run that wrote it may have been killed before the rest.
      const own = (scan.own.get(channel) ?? []).filter(
        ({ message }) => message.from === actor && message.re.length > 0,
      );
      const lookup = await this.#parts.archive.chain(tip, channel, ours);
      const left = new Set(unanswered(ours, own, actor, lookup).map(({ relPath }) => relPath));
      for (const delivery of ours) if (left.has(delivery.relPath)) open.add(delivery);
    }
    return open;
  }

  /** What the outbox and the dead letters say of deliveries. */
  async #known(): Promise<(delivery: Delivery) => DeliveryState> {
    const { outbox, deadLetters } = this.#parts;
    const [entries, aside, letters] = [
      await outbox.all(),
      await outbox.aside(),
      await deadLetters.all(),
    ];
    const states = new Map<string, DeliveryState>();
    const done = [...letters, ...aside.flatMap(({ delivery }) => delivery ?? [])];
    for (const { actor, channel, messages } of done) {
      for (const relPath of messages) states.set(keyOf(actor, channel, relPath), 'settled');
    }
    for (const entry of [...this.#foreseen.splice(0), ...entries]) {
      const { delivery } = entry;
      this.#parts.expect(entry);
      for (const relPath of delivery?.messages ?? []) {
        if (delivery) states.set(keyOf(delivery.actor, delivery.channel, relPath), 'running');
      }
    }
    return ({ actor, channel, relPath }) => {
      const key = keyOf(actor, channel, relPath);
      return this.#early.has(key) ? 'settled' : (states.get(key) ?? 'pending');
    };
  }
}

function keyOf(actor: string, channel: string, relPath: string): string {
  return `${actor}/${channel}/${relPath}`;
}
