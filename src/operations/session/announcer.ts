import { desktopOf, runNotifier, type Desktop, type Notification } from '../../runner/notify.ts';
import type { Announcement } from '../../runner/screen.ts';
import { CrosstalkError } from '../../errors.ts';
import { optionLines } from '../../protocol/choice.ts';
import type { Message } from '../../protocol/message.ts';
import { shown } from '../../protocol/text/result.ts';
import { asksOnArrival } from '../lookup/inbox.ts';
import { announceArrivals } from './announce.ts';
import { tipOf, type Context } from '../context.ts';
import { firstOnPath } from '../path.ts';

const WAYS = ['title', 'bell', 'desktop'] as const;
type Way = (typeof WAYS)[number];

const MAX_BODY = 140;

/**
 * The ways in which a session announces messages: `CROSSTALK_NOTIFY` is `off`, or a list of
 * `title`, `bell` and `desktop`, separated by commas; all of them by default.
 *
 * @throws CrosstalkError `usage` for any other value
 */
export function waysOf(env: NodeJS.ProcessEnv): ReadonlySet<Way> {
  const given = (env['CROSSTALK_NOTIFY'] ?? '').trim();
  if (given === '') return new Set(WAYS);
  if (given === 'off') return new Set();
  const words = given.split(',').map((word) => word.trim());
  const ways = words.flatMap((word) => WAYS.filter((way) => way === word));
  if (ways.length === words.length) return new Set(ways);
  throw new CrosstalkError(
    'usage',
    `CROSSTALK_NOTIFY is ${shown(given)}, expected off or some of ${WAYS.join(', ')}, separated by commas; unset it for all of them`,
  );
}

/**
 * Announces the messages for `name` that arrive from now on during a session, in the ways that the
 * environment selects.
 *
 * @throws CrosstalkError `usage` for `CROSSTALK_NOTIFY`
 */
export async function announcerFor(
  context: Context,
  name: string,
): Promise<(announce: (what: Announcement) => void, signal: AbortSignal) => Promise<void>> {
  const ways = waysOf(context.env);
  if (ways.size === 0) return () => Promise.resolve();
  const desktop = ways.has('desktop') ? await desktopHere(context.env) : { kind: 'none' as const };
  const since = await tipOf(context);
  return (announce, signal) =>
    announceArrivals(
      context,
      name,
      since,
      (messages) => {
        const notification = wording(messages, name);
        announce({
          ...(ways.has('title') && { names: messages.map(({ from }) => from) }),
          bell: ways.has('bell'),
          ...(desktop.kind === 'terminal' && { extra: desktop.format(notification) }),
        });
        if (desktop.kind === 'program') runNotifier(desktop.command(notification), signal);
      },
      signal,
    );
}

async function desktopHere(env: NodeJS.ProcessEnv): Promise<Desktop> {
  const found = await firstOnPath(['notify-send', 'osascript'], env['PATH'] ?? '');
  return desktopOf(env, process.platform, (program) => program === found);
}

/**
 * The text of a notification: who wrote the messages, whether one of them asks something, and how
 * the last one begins, before which one that asks goes.
 *
 * @param name for whom they came
 */
export function wording(messages: readonly Message[], name: string): Notification {
  const from = (some: readonly Message[]): string =>
    [...new Set(some.map((message) => plain(message.from, MAX_BODY)))].join(', ');
  const asking = messages.filter((message) => asksOnArrival(message, name));
  const shown = asking.at(-1) ?? messages.at(-1);
  const [only, ...more] = messages;
  const news =
    only !== undefined && more.length === 0
      ? `New from ${from([only])}`
      : `${String(messages.length)} new: ${from(messages)}`;
  const asks = asking.length === 0 ? undefined : `${from(asking)} asked you something`;
  return {
    summary: asks === undefined ? news : messages.length === 1 ? asks : `${news}; ${asks}`,
    body: plain([shown?.body ?? '', ...optionLines(shown?.options ?? [])].join(' '), MAX_BODY),
  };
}

/** Text of other people on one line, without characters that a terminal or a desktop would act on. */
function plain(text: string, most: number): string {
  const flat = Array.from(
    text
      .slice(0, 10 * most)
      .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
      .trim(),
  );
  return flat.length > most ? `${flat.slice(0, most - 1).join('')}…` : flat.join('');
}
