import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runPlain } from '../../runner/plain-session.ts';
import { loadPty } from '../../runner/pty.ts';
import { runOnPty } from '../../runner/pty-session.ts';
import { openTerminal } from '../../runner/terminal.ts';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { interactive } from '../../agents/interactive.ts';
import { shown } from '../../protocol/text/result.ts';
import { type Context, tipOf } from '../context.ts';
import { canStart, firstOnPath } from '../locate.ts';
import { desktopOf, runNotifier, type Desktop, type Notification } from '../../runner/notify.ts';
import type { Announcement } from '../../runner/screen.ts';
import { optionLines } from '../../protocol/talk.ts';
import type { Message } from '../../protocol/message.ts';
import { asksOnArrival } from '../state/inbox.ts';
import { arrivals, type Arrival } from '../lookup/arrivals.ts';
import { waitForNews } from '../reading/news.ts';

export interface InteractiveSession {
  /** The name of its instructions file. */
  name: string;
  /** A command line, or the name of a known agent CLI. */
  command: string;
  /** The instructions. */
  text: string;
  /** The variables that the CLI receives in addition to those of every session. */
  env: NodeJS.ProcessEnv;
  /** The name whose messages are announced while the session runs. */
  recipient: string;
  /** The advice to give when the CLI cannot be started. */
  otherwise: string;
  /** The working directory of the session. */
  cwd: string;
  /** The folder of the `crosstalk` on its PATH; see {@link prepareBin}. */
  bin: string;
}

/** Milliseconds between the signal that ends a session and SIGKILL. */
const GRACE_MS = 5000;

/**
 * Runs an agent CLI as an interactive session: on a pseudo-terminal if there is a terminal, otherwise on
 * the standard streams. The CLI also finds its instructions in a file, which `CROSSTALK_INSTRUCTIONS`
 * names.
 *
 * @returns the exit code of the CLI
 * @throws CrosstalkError `not_found` when it cannot be started
 */
export async function startInteractiveSession(
  context: Context,
  input: InteractiveSession,
): Promise<number> {
  const { paths, transport, note } = context;
  await makeFolder(paths.sessions, 0o700);
  const file = join(paths.sessions, `${input.name}.md`);
  await writeFile(file, input.text, { mode: 0o600 });
  const { argv, program, instructed } = interactive(input.command, input.text, file);
  if (!instructed)
    note(`instructions for this session are in ${file}, also named by CROSSTALK_INSTRUCTIONS`);
  const { cwd } = input;
  const path = `${input.bin}:${input.env['PATH'] ?? ''}`;
  const env = {
    ...input.env,
    PATH: path,
    CROSSTALK_TRANSPORT: transport.dir,
    CROSSTALK_INSTRUCTIONS: file,
  };
  if (program !== undefined && !(await canStart(program, path, cwd)))
    throw notStarted(program, 'no such program', input);
  const announcer = await announcerFor(context, input.recipient);
  const terminal = openTerminal();
  if (terminal !== undefined) {
    const open = await loadPty();
    const ended =
      'problem' in open
        ? open
        : await runOnPty({ command: argv, cwd, env, terminal, open, grace: GRACE_MS, announcer });
    if ('exitCode' in ended) return ended.exitCode;
    note(`no pseudo-terminal here: ${ended.problem}; the session goes on without announcements`);
  }
  const ended = await runPlain(argv, { cwd, env }, GRACE_MS);
  if ('exitCode' in ended) return ended.exitCode;
  throw notStarted(argv[0], ended.startError, input);
}

function notStarted(
  program: string | undefined,
  why: string,
  { otherwise }: InteractiveSession,
): CrosstalkError {
  return new CrosstalkError('not_found', `cannot start ${shown(program)}: ${why}; ${otherwise}`);
}

const WAYS = ['title', 'bell', 'desktop'] as const;
type Way = (typeof WAYS)[number];

const MAX_BODY = 140;

/**
 * Returns the ways in which a session announces messages: `CROSSTALK_NOTIFY` is `off`, or a list of
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
 * Returns a function that announces the messages for `name` that arrive from now on during a session, in
 * the ways that the environment selects.
 *
 * @throws CrosstalkError `usage` for `CROSSTALK_NOTIFY`
 */
async function announcerFor(
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
 * Returns the text of a notification: who wrote the messages, whether one of them asks something, and the
 * start of the last message, or of the last one that asks something.
 *
 * @param name the recipient of the messages
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

/** Returns foreign text on one line, without characters that a terminal or a desktop would act on. */
function plain(text: string, most: number): string {
  const flat = Array.from(
    text
      .slice(0, 10 * most)
      .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
      .trim(),
  );
  return flat.length > most ? `${flat.slice(0, most - 1).join('')}…` : flat.join('');
}

/** Milliseconds until the next attempt after a failure; doubled after each further failure. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** Maximum number of references of a message that are followed. */
const MAX_RE = 50;

/**
 * Announces every message for a name that arrives on the bus: messages addressed to it, and answers
 * to its messages. After any failure it tries again later, without reporting it.
 *
 * @param since the commit after which messages are new
 * @param signal aborting it makes the function return
 */
export async function announceArrivals(
  context: Context,
  name: string,
  since: string,
  tell: (messages: readonly Message[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const quiet: Context = { ...context, note: () => undefined };
  let seen = since;
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const tip = await waitForNews(quiet, seen, { signal, timeout: Infinity });
      if (tip === undefined) continue;
      const found: Message[] = [];
      for await (const some of arrivals(quiet, seen, tip))
        for (const arrival of some)
          if (await concerns(quiet, tip, arrival, name)) found.push(arrival.message);
      seen = tip;
      pause = FIRST_PAUSE_MS;
      if (found.length > 0) tell(found);
    } catch {
      await sleep(pause, undefined, { signal }).catch(() => undefined);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
  }
}

async function concerns(
  { reader }: Context,
  tip: string,
  { channel, message }: Arrival,
  name: string,
): Promise<boolean> {
  if (message.from === name) return false;
  if (message.to.some((address) => address.name === name)) return true;
  const answered = await reader.messages(tip, channel, message.re.slice(0, MAX_RE));
  return answered.some(({ message: { from } }) => from === name);
}
