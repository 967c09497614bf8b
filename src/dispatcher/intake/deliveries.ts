import { type MessageRef, messageFile } from '../../protocol/layout.ts';
import { Emitter } from '../../emitter.ts';
import { passed } from '../../crash-points.ts';
import { Mailboxes, type Delivery, type DeliveryState } from '../../protocol/mailbox.ts';
import type { ActorCursors, Cursors } from '../../state/cursors.ts';
import { continuity } from '../../bus/epochs.ts';
import { LostHistory } from './lost-history.ts';
import { orRest, catchUp, type ResumeApp, lookAtReappeared } from './resume.ts';
import { SharedAliasCheck } from './shared-alias.ts';
import { ScanReports } from './scan-reports.ts';
import { scanAdded, scanAgain, scanUnanswered, type Scan } from './scan.ts';

/** Dependencies of {@link Deliveries}. */
interface DeliveriesApp extends ResumeApp {
  cursors: Cursors;
}

/** The number of held messages that are looked for at a time. */
const MAX_READ_AGAIN = 100;

/**
 * Deliveries of this host: mailboxes in memory, cursors on disk.
 *
 * Crash order: a delivery leaves its mailbox (`settle`) only after its outcome is durable, as a reply on the remote,
 * a dead letter, or a recorded silence. Cursors are computed from the mailboxes and saved after that. So after a
 * crash before the save, the next start looks again at messages after the older cursor, where `Known` and the actor's
 * own answers show which ones are handled.
 */
export class Deliveries {
  readonly mailboxes = new Mailboxes();
  readonly aliases: SharedAliasCheck;
  /** Emits `portion` between the portions of a long scan. */
  readonly events = new Emitter<{ portion: [] }>();
  readonly #app: DeliveriesApp;
  readonly #active = new Set<string>();
  readonly #lost: LostHistory;
  /** Commits that we have pushed since the bus last answered, in addition to its answer. */
  readonly #pastTips: string[] = [];
  /** Number of them pushed before the pending request: its answer must contain them. */
  #asked = 0;
  readonly reports: ScanReports;
  /** Tip that the bus was known to have before this process asked it. */
  #before: string | undefined;
  #readAgainAt = 0;
  #stored: Map<string, ActorCursors> | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(app: DeliveriesApp) {
    this.#app = {
      ...app,
      portion: () => {
        this.events.emit('portion');
      },
    };
    this.reports = new ScanReports(app.log);
    this.#lost = new LostHistory(app);
    this.aliases = new SharedAliasCheck(app);
  }

  /** Notes the pushes before a fetch: its answer must contain them. Called before the fetch. */
  async foresee(): Promise<void> {
    this.#asked = this.#pastTips.length;
    if (this.mailboxes.scanned === undefined) this.#before ??= await this.#app.transport.tip();
  }

  /** Serves exactly these actors from now on; scans for new ones up to `tip`. */
  async admit(
    host: string,
    actors: readonly string[],
    tip: string,
    isNews: boolean,
  ): Promise<void> {
    const isRenamed = this.#app.cursors.moveTo(host);
    if (isRenamed) this.#stored = new Map();
    for (const actor of this.#active)
      if (isRenamed || !actors.includes(actor)) this.#active.delete(actor);
    const fresh = actors.filter((actor) => !this.#active.has(actor));
    if (fresh.length === 0) return;
    const before = this.#stored === undefined ? await this.#tipsBefore(tip) : [];
    if (!isNews) this.#pastTips.unshift(...before);
    this.#stored ??= await this.#app.cursors.load();
    const place = { host, tip, pastTips: isNews ? before : [] };
    const found = await catchUp(this.#app, this.#lost, this.#stored, place, fresh);
    for (const { since, scan, deliveries, due, isArchived = false, ...known } of found) {
      const recorded = await known.statesOf([...due, ...deliveries]);
      this.#app.lacking.deliver(this.mailboxes, due, recorded);
      const stateOf = orRest((one) => (known.isSettled(one) ? 'settled' : recorded(one)));
      this.mailboxes.addScan(since, tip, deliveries, stateOf);
      if (scan !== undefined && isArchived) this.reports.archived(tip, scan);
      if (scan === undefined) continue;
      this.reports.say(scan);
      // Messages written since the cursor without a record of them: this state is older than the machine.
      if (since !== '') await this.aliases.look(host, scan);
      // Archived messages come back marked.
      if (!isArchived) await this.#app.settled.gone(scan.removed);
    }
    await this.#lost.over();
    for (const actor of fresh) this.#active.add(actor);
    passed('scanned');
  }

  /** Returns the commits up to which the actors' mail was looked at before this start. */
  async cursors(): Promise<string[]> {
    return [...(await this.#app.cursors.load()).values()].map(({ through }) => through);
  }

  /** Returns the tips that the bus had before this process asked it. */
  async #tipsBefore(tip: string): Promise<string[]> {
    const seen = await this.#app.cursors.newestSeen();
    const unseen = await this.#lost.unseen(tip);
    return seen === undefined ? unseen : [seen, this.#before ?? seen, ...unseen];
  }

  /** Called after a push: the bus misses this commit if a later tip does not contain it. */
  reached(tip: string): void {
    this.#pastTips.push(tip);
  }

  /**
   * Scans the messages added since the last scan.
   *
   * @param isNews whether the bus was asked after {@link foresee} and answered `tip`. Only such a tip can show that
   * history was rewritten: a tip known before may be older than the pushes since then of ours, or of another clone on
   * our behalf
   */
  async advance(host: string, tip: string, isNews: boolean): Promise<Scan | undefined> {
    const from = this.mailboxes.scanned;
    if (from === undefined) return undefined;
    const unseen = isNews ? await this.#lost.unseen(tip) : [];
    this.#pastTips.unshift(...unseen);
    const asked = isNews ? this.#asked + unseen.length : 0;
    this.#asked = 0;
    // Without an answer the tip may be older than the pushes since, so it must contain all of them.
    const pastTips = isNews ? this.#pastTips.slice(0, asked) : [...this.#pastTips];
    const isSame = from === tip && !pastTips.some((commit) => commit !== tip);
    const scan = isSame ? undefined : await this.#takeIn(host, from, pastTips, tip, isNews);
    this.#pastTips.splice(0, asked);
    return scan;
  }

  async #takeIn(
    host: string,
    from: string,
    pastTips: readonly string[],
    tip: string,
    isNews: boolean,
  ): Promise<Scan | undefined> {
    const audience = { host, actors: [...this.#active] };
    const { known } = this.#app;
    const statesOf = await known.states();
    const [history, scan] = await Promise.all([
      continuity(this.#app.transport, [...new Set([from, ...pastTips])], tip),
      scanAdded(this.#app, audience, from, tip),
    ]);
    if (history.kind === 'rewritten')
      return isNews ? this.#afterRewrite(audience, history.lost, tip, scan) : undefined;
    if (history.kind === 'archived') this.reports.archived(tip, scan);
    else await this.#app.settled.gone(scan.removed);
    await this.aliases.look(host, scan);
    const { back, open, due } = await lookAtReappeared(this.#app, audience, tip, scan);
    const stateOf = await statesOf([...due, ...scan.deliveries]);
    this.#app.lacking.deliver(this.mailboxes, due, stateOf);
    const isHandled = (one: Delivery): boolean => back.has(one) && !open.has(one);
    this.#take(
      from,
      tip,
      scan,
      orRest((one) => (isHandled(one) ? 'settled' : stateOf(one))),
    );
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
    this.reports.say(scan);
  }

  /**
   * Ignores everything scanned so far (protocol.md §5): delivers messages that are unanswered by the current record
   * and were not settled here, and publishes messages of this machine again that the new history lacks.
   */
  async #afterRewrite(
    audience: { host: string; actors: string[] },
    lost: readonly string[],
    tip: string,
    news: Scan,
  ): Promise<Scan> {
    for (const from of lost) await this.#lost.bringBack(from, tip);
    const { known, lacking } = this.#app;
    const scan = await scanUnanswered(this.#app, audience, tip);
    const due = await lacking.dueFor(audience, tip);
    await lacking.markOpen(scan.deliveries, tip);
    const stateOf = await (await known.states())([...due, ...scan.deliveries]);
    lacking.deliver(this.mailboxes, due, stateOf);
    this.#take('', tip, scan, orRest(stateOf));
    await this.#lost.over();
    return { ...scan, configured: true, added: news.added };
  }

  /**
   * Looks again for the content of held messages, which keep the cursors back: a partial clone
   * fetches it once the remote answers, and an operator repairs a damaged message or removes it.
   */
  async readAgain(host: string, tip: string): Promise<void> {
    const all = this.mailboxes.awaitingContent();
    const at = this.#readAgainAt < all.length ? this.#readAgainAt : 0;
    const some = all.slice(at, at + MAX_READ_AGAIN);
    this.#readAgainAt = at + MAX_READ_AGAIN;
    const pathOf = (item: MessageRef): string => messageFile(item.channel, item.relPath);
    const places = new Map(some.map((item) => [pathOf(item), item]));
    const audience = { host, actors: [...this.#active] };
    const scan = await scanAgain(this.#app, audience, tip, [...places.values()]);
    const standing = await this.#app.transport.standing(tip, scan.unread.map(pathOf));
    for (const item of scan.unread) if (standing.has(pathOf(item))) places.delete(pathOf(item));
    for (const delivery of scan.deliveries) this.mailboxes.release(delivery);
    for (const item of this.mailboxes.awaitingContent())
      if (places.has(pathOf(item))) this.mailboxes.settle(item.actor, item.channel, [item.relPath]);
    this.reports.say(scan);
  }

  /** Marks deliveries as settled for good, and moves the cursors. */
  async settle(actor: string, channel: string, relPaths: readonly string[]): Promise<void> {
    await this.#app.settled
      .done(actor, channel, relPaths)
      .finally(() => this.leave(actor, channel, relPaths));
  }

  /**
   * Takes deliveries out of their mailbox, and moves the cursors: nothing was made of them, so that a scan which
   * finds them back delivers them, or the outbox has the entries that settle them.
   */
  async leave(actor: string, channel: string, relPaths: readonly string[]): Promise<void> {
    this.mailboxes.settle(actor, channel, relPaths);
    await this.save();
  }

  /** Writes the cursors, one write at a time. */
  save(): Promise<void> {
    const write = async (): Promise<void> => {
      const through = this.mailboxes.scanned;
      if (through === undefined) return;
      // Of other messages, the stored state stays.
      this.#stored = new Map(this.#stored);
      for (const actor of this.#active)
        this.#stored.set(actor, { through, channels: this.mailboxes.cursors(actor) });
      await this.#app.cursors.save(this.#stored, this.#pastTips.at(-1) ?? through);
    };
    this.#saving = this.#saving.then(write, write);
    return this.#saving;
  }
}
