import type { WebEventTask, WebPublishedEvent } from '../../api/sending.ts';
import { eventMarker, onceMarker, onceOnly } from '../../bus/automation/happened.ts';
import { matched, SubscriptionFiles, type Subscribed } from '../../bus/automation/subscriptions.ts';
import { CrosstalkError } from '../../errors.ts';
import { channelNamed } from '../../protocol/automation/fields.ts';
import { shareOf, taskOf } from '../../protocol/automation/follow-up.ts';
import { type Commit, outgoing } from '../../protocol/outgoing.ts';
import { messageFile, isName } from '../../protocol/layout.ts';
import { MAX_MESSAGE_BYTES } from '../../protocol/message.ts';
import { isOneLine } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { publish, recordEntry } from '../deliver.ts';
import { defaultChannelOf } from '../lookup/resolve.ts';

/** An event that has happened. */
export interface EventInput {
  /** Its name, as subscriptions have it in `source: event:<name>`. */
  source: string;
  /** The payload; at most 1 MiB. */
  payload: string;
  /** The id of the event; publishing the same event of the same source again uses the same id. */
  id?: string | undefined;
}

export type { WebPublishedEvent as PublishedEvent };

/** Maximum characters of an id. */
const MOST_ID = 200;
/** Maximum number of tasks that one event may create. */
const MOST = 50;

/**
 * Creates the tasks of the subscriptions to an event. With an id, all of them are written with a file
 * that must not exist on the tip, so that the same event from two machines counts once.
 *
 * @param options `wait`: false returns as soon as they are durable; `push` has to publish the outbox
 *   entry
 * @throws CrosstalkError `usage`, `held` for a payload that holds a secret, `refused` when nothing can be
 *   written
 */
export async function publishEvent(
  context: Context,
  input: EventInput,
  options: { wait: true } | { wait: false; push: (entry: string) => void },
): Promise<WebPublishedEvent> {
  assertEvent(input);
  await refreshOrNote(context);
  const { source, id } = input;
  const facts = { source, id: id ?? null };
  const marker = id === undefined ? undefined : eventMarker(source, id);
  const tip = await tipOf(context);
  const isThere = async (path: string): Promise<boolean> =>
    (await context.reader.text(tip, path)) !== undefined;
  // This process may have written it a moment ago.
  const isKnown = marker !== undefined && context.outbox.hasHeld(marker);
  if (isKnown || (marker !== undefined && (await isThere(marker))))
    return { ...facts, state: 'duplicate', tasks: [] };
  const made: { task: WebEventTask; commit: Commit }[] = [];
  const wanted = await wantedBy(context, tip, input);
  const allowance = shareOf(wanted.length);
  for (const one of wanted) {
    const once = one.once ? onceMarker(one) : undefined;
    if (once !== undefined && (await isThere(once))) continue;
    const found = await taskFor(context, tip, one, { ...input, allowance });
    if (found === undefined) continue;
    const { task, commit } = found;
    const marked = once === undefined ? commit : onceOnly(commit, once, `fired ${one.name}`);
    made.push({ task, commit: marked });
  }
  if (made.length === 0) return { ...facts, state: 'unheard', tasks: [] };
  const commits = made.map(({ commit }) =>
    marker === undefined ? commit : onceOnly(commit, marker, `event ${source}`),
  );
  const entry = context.newId();
  await recordEntry(context, entry, commits);
  const tasks = made.map(({ task }) => task);
  if (!options.wait) {
    options.push(entry);
    return { ...facts, state: 'queued', tasks };
  }
  const { published } = await publish(context, entry, { wait: true });
  if (!published) return { ...facts, state: 'queued', tasks };
  const left = await onBus(context, tasks);
  return { ...facts, state: left.length === 0 ? 'duplicate' : 'sent', tasks: left };
}

function assertEvent({ source, payload, id }: EventInput): void {
  if (!isName(source))
    throw new CrosstalkError(
      'usage',
      `${shown(source)} is no name of an event: use letters, digits and . _ -, at most 64`,
    );
  const size = Buffer.byteLength(payload);
  if (size > MAX_MESSAGE_BYTES)
    throw new CrosstalkError(
      'usage',
      `the payload has ${String(size)} bytes, expected at most 1 MiB; send a part of it, or where it is`,
    );
  if (id !== undefined && (!isOneLine(id) || id.length > MOST_ID))
    throw new CrosstalkError(
      'usage',
      `the id is ${shown(id)}, expected a text on one line, at most ${String(MOST_ID)} characters`,
    );
}

/** Returns the subscriptions to an event that can be followed; those that cannot are noted. */
async function wantedBy(
  context: Context,
  tip: string,
  { source, payload }: EventInput,
): Promise<Subscribed[]> {
  const { files } = await new SubscriptionFiles(context.transport).at(tip);
  for (const { path, result } of files)
    if (!result.ok)
      context.note(`${shown(path).slice(1, -1)} was passed over: ${result.problems.join('; ')}`);
  const listening = files
    .flatMap(({ result }) => (result.ok ? [result.value] : []))
    .filter((one) => one.enabled && one.source.kind === 'event' && one.source.name === source);
  return (await matched(listening, payload)).slice(0, MOST);
}

async function taskFor(
  context: Context,
  tip: string,
  subscription: Subscribed,
  { source, payload, allowance }: EventInput & { allowance: number },
): Promise<{ task: WebEventTask; commit: Commit } | undefined> {
  const { name, channel: wanted } = subscription;
  const channels = await context.reader.channels(tip);
  const target =
    wanted === undefined
      ? (defaultChannelOf(context, channels) ?? {
          problem: 'it names no channel, and there are several',
        })
      : channelNamed(channels, wanted);
  if ('problem' in target) {
    context.note(`the subscription ${name} was passed over: ${target.problem}`);
    return undefined;
  }
  const { id: channel } = target;
  const happening = { kind: 'event' as const, name: source, payload };
  const task = taskOf(subscription, happening, { channel, at: context.now(), allowance });
  const { relPath, commit } = outgoing(task, channel, context.hostname, context.suffix());
  return { task: { subscription: name, channel, relPath }, commit };
}

/** Returns those of some tasks that were published: another machine may have been first. */
async function onBus(context: Context, tasks: readonly WebEventTask[]): Promise<WebEventTask[]> {
  const tip = (await context.transport.tip()) ?? '';
  const found = await Promise.all(
    tasks.map(({ channel, relPath }) =>
      context.reader.text(tip, messageFile(channel, relPath)).then((text) => text !== undefined),
    ),
  );
  return tasks.filter((_, at) => found[at] === true);
}
