import type { MessageRef } from '../../protocol/message-ref.ts';
import { passed } from '../../crash-points.ts';
import { messageFile } from '../../protocol/layout.ts';
import { Mailboxes, type Delivery, type DeliveryState } from '../../protocol/mailbox.ts';
import type { ActorCursors, Cursors } from '../../state/cursors.ts';
import { continuity } from '../../bus/epochs.ts';
import type { Known } from './known.ts';
import type { Lacking } from './lacking.ts';
import { LostHistory, type LostHistoryParts } from './lost-history.ts';
import { orRest, resume } from './resume.ts';
import { lookAtReturned } from './returned.ts';
import { AliasWatch } from './shared-alias.ts';
import { ScanReports } from './scan-reports.ts';
import { scanAdded, scanAgain, scanUnanswered, type Scan } from './scan.ts';

export interface DeliveriesParts extends LostHistoryParts {
  cursors: Cursors;
  known: Known;
  lacking: Lacking;
  /** Whether a file was in this machine's outbox, as far as this process has seen. */
  wrote: (path: string) => boolean;
  /** New actors start at the tip instead of at what is unanswered. */
  fromNow: boolean;
}

/** So many held messages are looked for at a time. */
const MAX_READ_AGAIN = 100;

/**
 * What is to be delivered on this host: mailboxes in memory, cursors on disk.
 *
 * Crash order. A delivery leaves its mailbox (`settle`) only after its outcome is durable: reply
 * on the remote, or dead letter written, or silence. Cursors are computed from the mailboxes and
 * saved after that. So a crash before the save only makes a later start look again at messages
 * after the older cursor, where {@link Known} and the
 * actor's own answers say what is handled.
 */
export class Deliveries {
  readonly mailboxes = new Mailboxes();
  readonly aliases: AliasWatch;
  readonly #parts: DeliveriesParts;
  readonly #active = new Set<string>();
  readonly #lost: LostHistory;
  /** What we have pushed since the bus was last asked and answered, beside that. */
  readonly #held: string[] = [];
  /** How much of it was pushed before the question that is out: its answer must have that. */
  #asked = 0;
  readonly #reports: ScanReports;
  /** What the bus was known to hold before this process asked it. */
  #before: string | undefined;
  #heldAt = 0;
  #stored: Map<string, ActorCursors> | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
    const { wrote, departed, log } = parts;
    this.#reports = new ScanReports(log);
    this.#lost = new LostHistory(parts);
    this.aliases = new AliasWatch((path) => wrote(path) || departed.has(path), log);
  }

  /** Before a fetch that may be too early to see what is pushed, and cleared away, right after it. */
  async foresee(): Promise<void> {
    const { known, departed, transport } = this.#parts;
    this.#asked = this.#held.length;
    known.asked();
    const isFirst = this.mailboxes.scanned === undefined;
    if (isFirst) this.#before ??= await transport.tip();
    if (isFirst || departed.any) await known.foresee();
  }

  /**
   * Serves exactly these actors from now on; new ones are scanned for up to `tip`.
   *
   * @param isNews as for {@link advance}
   */
  async admit(
    host: string,
    actors: readonly string[],
    tip: string,
    isNews: boolean,
  ): Promise<void> {
    const isRenamed = this.#parts.cursors.moveTo(host);
    if (isRenamed) this.#stored = new Map();
    for (const actor of this.#active)
      if (isRenamed || !actors.includes(actor)) this.#active.delete(actor);
    const fresh = actors.filter((actor) => !this.#active.has(actor));
    if (fresh.length === 0) return;
    const before = this.#stored === undefined ? await this.#heldBefore(host, tip) : [];
    if (!isNews) this.#held.unshift(...before);
    this.#stored ??= await this.#parts.cursors.load();
    await this.#parts.departed.load();
    const place = { host, tip, held: isNews ? before : [] };
    const found = await resume(this.#parts, this.#lost, this.#stored, place, fresh);
    for (const { since, scan, deliveries, stateOf, due, recorded, isArchived = false } of found) {
      this.#parts.lacking.deliver(this.mailboxes, due, recorded);
      this.mailboxes.addScan(since, tip, deliveries, stateOf);
      if (scan !== undefined && isArchived) this.#reports.archived(tip, scan);
      if (scan === undefined) continue;
      this.#reports.say(scan);
      await this.#parts.departed.note(scan.removed, !isArchived);
    }
    this.#lost.over();
    for (const actor of fresh) this.#active.add(actor);
    passed('scanned');
  }

  /** What this machine knows the bus to have held before this process asked it. */
  async #heldBefore(host: string, tip: string): Promise<string[]> {
    const seen = await this.#parts.cursors.held();
    const unseen = await this.#lost.unseen(host, seen, tip);
    return seen === undefined ? unseen : [seen, this.#before ?? seen, ...unseen];
  }
  /** A push has brought the bus there: what it holds is missed when a later tip does not. */
  holds(tip: string): void {
    this.#held.push(tip);
  }
  /**
   * Takes in what was added since the last scan.
   *
   * @param isNews the bus was asked after {@link foresee}, and has answered `tip`. Only that can tell
   *   of a rewritten history: a tip that was known before may be older than what we have pushed since,
   *   or than what another clone has pushed for us
   */
  async advance(host: string, tip: string, isNews: boolean): Promise<Scan | undefined> {
    const from = this.mailboxes.scanned;
    if (from === undefined) return undefined;
    const unseen = isNews ? await this.#lost.unseenSince(host, tip) : [];
    this.#held.unshift(...unseen);
    const asked = isNews ? this.#asked + unseen.length : 0;
    this.#asked = 0;
    // Without news nobody knows whether a tip is from before what was pushed since: it has to hold that.
    const held = isNews ? this.#held.slice(0, asked) : [...this.#held];
    const isSame = from === tip && !held.some((commit) => commit !== tip);
    const scan = isSame ? undefined : await this.#takeIn(host, from, held, tip, isNews);
    this.#held.splice(0, asked);
    return scan;
  }

  async #takeIn(
    host: string,
    from: string,
    held: readonly string[],
    tip: string,
    isNews: boolean,
  ): Promise<Scan | undefined> {
    const audience = { host, actors: [...this.#active] };
    const [history, scan] = await Promise.all([
      continuity(this.#parts.transport, [...new Set([from, ...held])], tip),
      scanAdded(this.#parts, audience, from, tip),
    ]);
    if (history.kind === 'rewritten')
      return isNews ? this.#afterRewrite(audience, history.lost, tip, scan) : undefined;
    if (history.kind === 'archived') this.#reports.archived(tip, scan);
    await this.#parts.departed.note(scan.removed, history.kind === 'grown');
    this.aliases.look(host, scan);
    const back = await lookAtReturned(this.#parts, audience, tip, scan);
    for (const one of back.open) this.mailboxes.reopen(one);
    this.#parts.lacking.deliver(this.mailboxes, back.due, back.stateOf);
    this.#take(from, tip, scan, (one) => (back.isHandled(one) ? 'settled' : 'pending'));
    return scan;
  }

  #take(
    since: string,
    tip: string,
    scan: Scan,
    stateOf: (delivery: Delivery) => DeliveryState,
  ): void {
    this.mailboxes.addScan(since, tip, scan.deliveries, stateOf);
    passed('scanned');
    this.#reports.say(scan);
  }

  /**
   * Nothing that was scanned so far counts (protocol.md §5): what is unanswered as the record stands
   * now is delivered, and of what this machine wrote and is gone with the history is published again.
   */
  async #afterRewrite(
    audience: { host: string; actors: string[] },
    lost: readonly string[],
    tip: string,
    news: Scan,
  ): Promise<Scan> {
    for (const from of lost) await this.#lost.bringBack(audience.host, from, tip);
    const { known, lacking } = this.#parts;
    const { found, stateOf } = await known.during(async () => ({
      scan: await scanUnanswered(this.#parts, audience, tip),
      due: await lacking.dueFor(audience, tip),
    }));
    await lacking.markOpen(found.scan.deliveries);
    this.mailboxes.forgetSettled();
    lacking.deliver(this.mailboxes, found.due, stateOf);
    this.#take('', tip, found.scan, orRest(stateOf));
    this.#lost.over();
    return { ...found.scan, configured: true, added: news.added };
  }

  /**
   * Looks again for the content of held messages, which keep the cursors back: a partial clone
   * fetches it once the remote answers, an operator mends a damaged one, or takes it off the bus.
   */
  async readAgain(host: string, tip: string): Promise<void> {
    const all = this.mailboxes.held();
    const at = this.#heldAt < all.length ? this.#heldAt : 0;
    const held = all.slice(at, at + MAX_READ_AGAIN);
    this.#heldAt = at + MAX_READ_AGAIN;
    const pathOf = (item: MessageRef): string => messageFile(item.channel, item.relPath);
    const places = new Map(held.map((item) => [pathOf(item), item]));
    const audience = { host, actors: [...this.#active] };
    const scan = await scanAgain(this.#parts, audience, tip, [...places.values()]);
    const standing = await this.#parts.transport.standing(tip, scan.unread.map(pathOf));
    for (const item of scan.unread) if (standing.has(pathOf(item))) places.delete(pathOf(item));
    for (const delivery of scan.deliveries) this.mailboxes.release(delivery);
    for (const item of this.mailboxes.held())
      if (places.has(pathOf(item))) this.mailboxes.settle(item.actor, item.channel, [item.relPath]);
    this.#reports.say(scan);
  }

  /** Marks deliveries as settled and moves the cursors; durable when it returns. */
  async settle(actor: string, channel: string, relPaths: readonly string[]): Promise<void> {
    const { known } = this.#parts;
    known.settledLate(actor, channel, relPaths);
    if (!this.#active.has(actor)) known.settledEarly(actor, channel, relPaths);
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
      await this.#parts.cursors.save(cursors, this.#held.at(-1) ?? through);
    };
    this.#saving = this.#saving.then(write, write);
    return this.#saving;
  }
}
