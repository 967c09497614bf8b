import type { DispatcherApp } from '../../bus/app.ts';
import type { Delivery, DeliveryState } from '../../protocol/mailbox.ts';
import { cursorOf, type ActorCursors } from '../../state/cursors.ts';
import { continuity } from '../../bus/epochs.ts';
import { messageFile, type MessageRef, messageKey } from '../../protocol/layout.ts';
import type { Known, StatesOf } from './known.ts';
import type { MissingParents } from './missing-parents.ts';
import type { LostHistory, LostHistoryApp } from './lost-history.ts';
import { scanAdded, scanUnanswered, type Scan, scanAgain, type Audience } from './scan.ts';
import { OwnMessages } from './own-messages.ts';
import { byMailbox, stillOpen, openAgain } from './still-open.ts';

/** Dependencies for finding the deliveries since a machine last ran. */
export interface ResumeApp extends LostHistoryApp, Pick<DispatcherApp, 'reader'> {
  known: Known;
  lacking: MissingParents;
  /** New actors start at the tip instead of with their unanswered messages. */
  fromNow: boolean;
  /** Called between the portions of a long scan. */
  portion?: (() => void) | undefined;
}

/** The result of one scan for an actor, to be put into its mailboxes. */
export interface Resumed {
  /** The commit from which the scan started; empty for the whole record. */
  since: string;
  /** Undefined where nothing was scanned. */
  scan: Scan | undefined;
  /** Whether the messages found missing were archived. */
  isArchived?: boolean;
  deliveries: Delivery[];
  /** Deliveries to be made again, since their missing parents are back. */
  due: Delivery[];
  /** Gives the recorded states. */
  statesOf: StatesOf;
  /** Whether the record on the bus shows that it is settled. */
  isSettled: (delivery: Delivery) => boolean;
}

/** From which commits a machine continues. */
interface Place {
  host: string;
  tip: string;
  /** The newest commits that this machine had at its start. */
  pastTips: readonly (string | undefined)[];
}

/**
 * Determines the deliveries to actors: messages added since their cursors, or, for actors without a cursor,
 * everything unanswered.
 */
export async function catchUp(
  app: ResumeApp,
  lost: LostHistory,
  stored: ReadonlyMap<string, ActorCursors>,
  place: Place,
  actors: readonly string[],
): Promise<Resumed[]> {
  const { transport, known } = app;
  const { host, tip, pastTips } = place;
  const cursors = actors.flatMap((actor) => stored.get(actor) ?? []);
  const commits = new Set(cursors.flatMap(commitsOf).filter((commit) => commit !== ''));
  for (const commit of pastTips) if (commit !== undefined) commits.add(commit);
  const history = await continuity(transport, [...commits], tip);
  if (history.kind === 'rewritten')
    for (const from of history.lost) await lost.bringBack(from, tip);
  // A message that is being published again settles the same deliveries as before.
  const statesOf = await known.states();
  const found: Resumed[] = [];
  for (const actor of actors) {
    const audience = { host, actors: [actor] };
    const cursor = stored.get(actor);
    // A cursor into a history that no longer exists proves nothing.
    if (cursor === undefined || history.kind === 'rewritten') {
      const isNew = cursor === undefined && app.fromNow;
      const scan = isNew ? undefined : await scanUnanswered(app, audience, tip);
      const deliveries = scan?.deliveries ?? [];
      if (scan !== undefined && cursor === undefined)
        scan.cancels = scan.cancels.map((cancel) => ({ ...cancel, unserved: actor }));
      const due = isNew ? [] : await app.lacking.dueFor(audience, tip);
      await app.lacking.markOpen(deliveries, tip);
      found.push({ since: '', scan, deliveries, due, statesOf, isSettled: () => false });
      continue;
    }
    for (const commit of commitsOf(cursor)) {
      const isHere = ({ channel }: Delivery): boolean => cursorOf(cursor, channel) === commit;
      if (commit === '') {
        const scan = await scanUnanswered(app, audience, tip);
        const deliveries = scan.deliveries.filter(isHere);
        const due = await app.lacking.dueFor(audience, tip);
        await app.lacking.markOpen(deliveries, tip);
        found.push({ since: '', scan, deliveries, due, statesOf, isSettled: () => false });
        continue;
      }
      const scan = await scanAdded(app, audience, commit, tip);
      // The answer to a message that is back may be older than the cursor.
      const { back, open, due } = await lookAtReappeared(app, audience, tip, scan);
      const deliveries = scan.deliveries.filter(isHere);
      const fresh = deliveries.filter((one) => !back.has(one));
      const opened = await openSince(app, fresh, scan, { since: commit, tip });
      found.push({
        since: commit,
        scan,
        isArchived: history.kind === 'archived',
        deliveries,
        due,
        statesOf,
        isSettled: (one) => !opened.has(one) && !open.has(one),
      });
    }
  }
  return found;
}

/** Returns the state of a delivery: one that may complete a goal is pending, whatever its recorded state. */
export function orRest(
  stateOf: (one: Delivery) => DeliveryState,
): (one: Delivery) => DeliveryState {
  return (one) => (one.rest === true ? 'pending' : stateOf(one));
}

/** Returns the commits of an actor's cursors. */
function commitsOf({ through, channels }: ActorCursors): string[] {
  return [...new Set([through, ...Object.values(channels)])];
}

/** Returns the deliveries added since a cursor that this host has not answered, as far as the record shows. */
async function openSince(
  app: ResumeApp,
  waking: readonly Delivery[],
  scan: Scan,
  { since, tip }: { since: string; tip: string },
): Promise<Set<Delivery>> {
  const open = new Set<Delivery>();
  const ownOf = new Map<string, OwnMessages>();
  const tasks = [...scan.own].flatMap(([channel, messages]) =>
    messages.flatMap(({ relPath, message }) =>
      message.re.length === 0 ? [messageFile(channel, relPath)] : [],
    ),
  );
  const ours = await app.written.look(tasks);
  for (const [channel, messages] of scan.own)
    for (const located of messages) {
      const { from, re } = located.message;
      // A delegated task settles nothing: the run that wrote it may have been killed before its
      // answer. A task that this state knows nothing of was written by a later one, of which this is a
      // copy that was made before, so its run did not end here.
      if (re.length === 0 && ours.has(messageFile(channel, located.relPath))) continue;
      const own = ownOf.get(from) ?? new OwnMessages();
      own.add(channel, located);
      ownOf.set(from, own);
    }
  for (const { actor, channel, messages } of byMailbox(waking)) {
    const own = ownOf.get(actor) ?? new OwnMessages();
    const question = { actor, channel, tip, since };
    for (const one of await stillOpen(app, question, messages, own)) open.add(one);
  }
  return open;
}

interface ReappearedApp extends Pick<DispatcherApp, 'transport' | 'reader' | 'settled'> {
  lacking: MissingParents;
}

/** Deliveries of a scan that may have been made before. */
interface Reappeared {
  back: ReadonlySet<Delivery>;
  /** The unanswered ones among them. */
  open: ReadonlySet<Delivery>;
  /** Deliveries that were handled without something that is now back. */
  due: Delivery[];
}

/**
 * Examines the deliveries of a scan that had been on the bus before: whether they are unanswered now, and which were
 * handled while they were missing.
 */
export async function lookAtReappeared(
  app: ReappearedApp,
  audience: Audience,
  tip: string,
  scan: Scan,
): Promise<Reappeared> {
  const back = await returned(app, audience, tip, scan);
  if (back.size === 0) return { back, open: back, due: [] };
  const open = await openAgain(app, [...back], audience.host, tip);
  await app.lacking.markBack(open, tip);
  return { back, open, due: await app.lacking.dueFor(audience, tip) };
}

/**
 * Returns the deliveries of a scan that may have been made and answered before: messages that were gone and are back,
 * and messages that answer one of ours that is back. The latter may have been there all the time: they woke nobody
 * while the message they answer was gone, so they are looked up and added to the scan.
 */
async function returned(
  app: ReappearedApp,
  audience: Audience,
  tip: string,
  scan: Scan,
): Promise<Set<Delivery>> {
  const { reader, settled } = app;
  const back = await settled.back(scan.deliveries);
  const found = new Set(scan.deliveries.map(messageKey));
  const places: MessageRef[] = [];
  for (const [channel, messages] of scan.own) {
    const ours = await settled.back(messages.map(({ relPath }) => ({ channel, relPath })));
    if (ours.size === 0) continue;
    const asked = new Set([...ours].map(({ relPath }) => relPath));
    // They may stand anywhere: the clock of the answering host may be days behind.
    for await (const some of reader.headers(tip, channel))
      for (const { relPath, message } of some)
        if (
          message.re.some((named) => asked.has(named)) &&
          !found.has(messageKey({ channel, relPath }))
        )
          places.push({ channel, relPath });
  }
  const { deliveries } = await scanAgain(app, audience, tip, places);
  for (const delivery of deliveries) {
    scan.deliveries.push(delivery);
    back.add(delivery);
  }
  return back;
}
