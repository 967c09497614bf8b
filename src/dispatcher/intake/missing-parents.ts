import type { DispatcherApp } from '../../bus/app.ts';
import { isQuestion, openQuestions } from '../../protocol/causality.ts';
import { messageFile, placeOf, placeOfRef } from '../../protocol/layout.ts';
import type { Delivery, DeliveryState, Mailboxes } from '../../protocol/mailbox.ts';
import type { IncompleteRun } from '../../state/settled.ts';
import { questionsOf } from '../../protocol/outgoing.ts';
import { keyOf } from './known.ts';
import { scanAgain, type Audience } from './scan.ts';
import { openAgain } from './still-open.ts';

type MissingParentsApp = Pick<
  DispatcherApp,
  'transport' | 'reader' | 'settled' | 'outbox' | 'deadLetters'
>;

/** The most messages recorded for one run, so that others cannot crowd out the rest of the record. */
const MAX_MISSING = 200;

type Place = Pick<Delivery, 'actor' | 'channel' | 'relPath'>;

type Batch = Pick<IncompleteRun, 'actor' | 'channel' | 'incomplete'>;

/**
 * Answers of peers that an actor handled while another message of the thread was not on the bus,
 * because a branch was set back or somebody removed it. If the question was missing, there was
 * nobody to answer; if another answer was missing, the actor kept waiting. In both cases the asker
 * gets no answer, so the answers are delivered again when that message is back and the question is
 * still open.
 */
export class MissingParents {
  readonly #app: MissingParentsApp;
  /** Deliveries to be handled again. */
  readonly #again = new Set<string>();
  /** Deliveries that a current run handles: it reads what is there, and reports its missing parents. */
  readonly #underWay = new Set<string>();

  constructor(app: MissingParentsApp) {
    this.#app = app;
  }

  begin(batch: Batch): void {
    for (const key of keysOf(batch)) this.#underWay.add(key);
  }

  end(batch: Batch): void {
    for (const key of keysOf(batch)) this.#underWay.delete(key);
  }

  /** Records the missing parents of a run before its outcome is recorded: they may come back after a crash. */
  async note(run: IncompleteRun): Promise<void> {
    const lacking = run.lacking.slice(0, MAX_MISSING);
    if (lacking.length > 0) await this.#app.settled.lacked({ ...run, lacking });
  }

  /**
   * Records, after that, that the batch was handled again, or is no longer there.
   *
   * @param run undefined when the batch is no longer there
   * @param isRest whether the whole batch consists of answers that {@link markBack} has marked
   */
  async over(batch: Batch, run: IncompleteRun | undefined, isRest: boolean): Promise<void> {
    const keys = keysOf(batch);
    const incomplete = batch.incomplete.filter(
      (_, index) => this.#again.delete(keys[index] ?? '') || isRest,
    );
    if (incomplete.length > 0 && run !== undefined)
      await this.#app.settled.again({
        ...run,
        incomplete,
        lacking: run.lacking.slice(0, MAX_MISSING),
      });
  }

  /**
   * Returns the deliveries to make again, except those that a run or an operator is handling, and those for a
   * question whose answer waits to be published.
   *
   * @param lacking paths of messages that may be back; undefined for the missing parents of all runs
   */
  async dueFor(audience: Audience, tip: string, lacking?: readonly string[]): Promise<Delivery[]> {
    const runs = (await this.#app.settled.without(lacking && new Set(lacking))).filter(
      ({ actor }) => audience.actors.includes(actor),
    );
    if (runs.length === 0) return [];
    const back = await this.#open(audience, tip, lacking ?? runs.flatMap((run) => run.lacking));
    if (back.size === 0) return [];
    const busy = await this.#busy();
    const due = new Map<string, Delivery>();
    for (const { actor, channel, incomplete, lacking: lacked } of runs) {
      if (!lacked.some((path) => back.has(`${actor} ${path}`))) continue;
      const places = incomplete.map((relPath) => ({ channel, relPath }));
      const free = places.filter((place) => !busy(keyOf({ actor, ...place })));
      const { deliveries } = await scanAgain(this.#app, audience, tip, free);
      for (const one of deliveries)
        if (one.actor === actor) due.set(keyOf(one), { ...one, dealt: true });
    }
    return [...due.values()];
  }

  /**
   * Returns the messages at these paths that exist and that actors have not answered, nor have a record of having
   * answered.
   */
  async #open(audience: Audience, tip: string, paths: readonly string[]): Promise<Set<string>> {
    const standing = await this.#app.transport.standing(tip, [...new Set(paths)]);
    const places = [...standing].flatMap((path) => {
      const place = placeOf(path);
      return place.kind === 'message' ? [place] : [];
    });
    const { deliveries } = await scanAgain(this.#app, audience, tip, places);
    const open = [...(await openAgain(this.#app, deliveries, audience.host, tip))];
    const answered = await this.#answered(open);
    return new Set(
      open.flatMap((one) =>
        answered.has(one) ? [] : [`${one.actor} ${messageFile(one.channel, one.relPath)}`],
      ),
    );
  }

  /** Delivers them again. @param stateOf the recorded state of a delivery */
  deliver(
    mailboxes: Mailboxes,
    due: readonly Delivery[],
    stateOf?: (delivery: Delivery) => DeliveryState,
  ): void {
    for (const one of due) this.#again.add(keyOf(one));
    mailboxes.addAgain(due, stateOf);
  }

  /** Completes the look after a run, because its missing parents may have come back while it ran. */
  async complete(
    mailboxes: Mailboxes,
    audience: Audience,
    lacking: readonly string[],
  ): Promise<void> {
    const tip = mailboxes.scanned;
    if (lacking.length > 0 && tip !== undefined)
      this.deliver(mailboxes, await this.dueFor(audience, tip, lacking));
  }

  /**
   * Marks answers that are back and open: those that the actor met with silence may complete their
   * goal.
   */
  markBack(back: Iterable<Delivery>, tip: string): Promise<void> {
    return this.#mark([...back], tip, () => true);
  }

  /**
   * As {@link markBack}, for everything open: answers that were once gone and were not handled
   * since.
   */
  async markOpen(open: readonly Delivery[], tip: string): Promise<void> {
    await this.#mark([...(await this.#app.settled.back(open))], tip, (isAgain) => !isAgain);
  }

  /** @param isMeant decides by whether it was handled again */
  async #mark(
    back: readonly Delivery[],
    tip: string,
    isMeant: (isAgain: boolean) => boolean,
  ): Promise<void> {
    const answers = back.filter(({ message }) => !isQuestion(message));
    if (answers.length === 0) return;
    const { settled, reader } = this.#app;
    const again = await settled.of('again', answers);
    const silent = await settled.of('silent', answers);
    for (const one of answers) {
      if (!again.has(one) && !silent.has(one)) continue;
      if (!isMeant(again.has(one))) continue;
      // A message that this machine has answered is not completed again, even if its answer is gone.
      const lookup = await reader.chain(tip, one.channel, [one]);
      const questions = openQuestions(one, one.actor, lookup).map(({ relPath }) => ({
        actor: one.actor,
        ...placeOfRef(one.channel, relPath),
      }));
      one.rest = (await this.#answered(questions)).size < questions.length;
    }
  }

  /** Those of some questions whose answers are on record, whether or not they are on the bus. */
  async #answered<T extends Place>(questions: readonly T[]): Promise<Set<T>> {
    const { outbox, settled } = this.#app;
    const waiting = new Set<string>();
    for (const { delivery, commits } of await outbox.all())
      for (const file of delivery === undefined ? [] : commits.flatMap(({ files }) => files))
        for (const named of questionsOf(file))
          waiting.add(keyOf({ actor: delivery?.actor ?? '', ...named }));
    // Entries that left the outbox since then are on record.
    const answered = await settled.of('answered', questions);
    for (const one of questions) if (waiting.has(keyOf(one))) answered.add(one);
    return answered;
  }

  async #busy(): Promise<(key: string) => boolean> {
    const letters = new Set<string>();
    for (const { actor, channel, messages } of await this.#app.deadLetters.all())
      for (const key of keysOf({ actor, channel, incomplete: messages })) letters.add(key);
    return (key) => letters.has(key) || this.#again.has(key) || this.#underWay.has(key);
  }
}

function keysOf({ actor, channel, incomplete }: Batch): string[] {
  return incomplete.map((relPath) => keyOf({ actor, channel, relPath }));
}
