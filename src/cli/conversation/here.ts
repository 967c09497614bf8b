import { CrosstalkError } from '../../errors.ts';
import type { Context } from '../../actions/context.ts';
import { status } from '../../actions/health/status.ts';
import type { Status } from '../../actions/health/report.ts';
import { resolveFrom } from '../../actions/lookup/resolve.ts';
import { VERSION_FILE } from '../../protocol/layout.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { inTransport, type Call } from '../command/command.ts';
import { EXIT, type Io } from '../command/io.ts';
import { painter } from '../view/render.ts';

/** The most problems that are named; `status` has all. */
const NAMED = 3;

/**
 * Shows the state to a user at a terminal who gave no command, and the one next step: in a few lines, from this
 * machine's own records.
 */
export async function whereOneStands(io: Io): Promise<number> {
  const call: Call = { io, name: 'status', args: [], options: {} };
  // For another version it reports that, and asks no remote whether that is still so.
  const lines = await inTransport(call, (context) => seenBy(context, io), {
    anyVersion: true,
  }).catch((error: unknown) => {
    if (error instanceof CrosstalkError && error.code === 'not_found') return nothingHere(io);
    throw error;
  });
  const paint = painter(io);
  for (const [name, text] of [...lines, ['Commands', 'crosstalk --help']])
    io.out(`${paint('bold', `${name ?? ''}:`)} ${text ?? ''}\n`);
  return EXIT.ok;
}

function nothingHere({ cwd }: Io): string[][] {
  return [
    ['No bus here', `neither ${escapeInvisible(cwd)} nor a folder above it is a transport`],
    [
      'Next',
      'crosstalk init, in a git project or an empty folder; to see it work first: crosstalk demo',
    ],
  ];
}

async function seenBy(context: Context, io: Io): Promise<string[][]> {
  const { transport } = context;
  const tip = await transport.tip();
  const version = tip && (await transport.objects.text(tip, VERSION_FILE));
  if (version === undefined) return nothingHere(io);
  let name: string | undefined;
  try {
    name = resolveFrom(context, undefined, io.login);
  } catch {
    // A sender that is not a name has no mail.
  }
  return linesOf(await status(context, undefined, name === undefined ? {} : { name }));
}

function linesOf(s: Status): string[][] {
  const { dispatcher, findings, host, inbox, paused } = s;
  const problems = findings.filter(({ command }) => command !== START);
  const more = problems.length - NAMED;
  const alias = host === null ? 'no host of this machine' : `host ${host.alias}`;
  return [
    ['Bus', `${escapeInvisible(s.transport)}, ${alias}`],
    ['Dispatcher', dispatcher === null ? 'not running' : paused === null ? 'running' : 'paused'],
    ...(inbox === null ? [] : [['For you', `${inboxLine(inbox)}, as ${inbox.name}`]]),
    ...problems
      .slice(0, NAMED)
      .map(({ kind, problem }) => [kind === 'act' ? 'Stuck' : 'Waiting', problem]),
    ...(more > 0 ? [['And', `${String(more)} more: crosstalk status`]] : []),
    ['Next', nextStep(s)],
  ];
}

const START = 'crosstalk dispatch';

function inboxLine({ unread, questions }: NonNullable<Status['inbox']>): string {
  const asking = questions === 0 ? '' : `, ${String(questions)} waiting for your answer`;
  return `${unread === 0 ? 'nothing unread' : `${String(unread)} unread`}${asking}`;
}

/**
 * Returns the one command that helps most: one that gets mail moving, then one for mail that waits for this person,
 * then a question.
 */
function nextStep({ findings, host, inbox }: Status): string {
  const todo = findings.filter(({ kind }) => kind === 'act');
  const command = todo.find((finding) => finding.command !== null)?.command ?? undefined;
  if (command !== undefined) return command;
  if (todo.length > 0) return 'crosstalk doctor';
  if ((inbox?.questions ?? 0) > 0) return 'crosstalk inbox --questions';
  if ((inbox?.unread ?? 0) > 0) return 'crosstalk inbox';
  const [actor] = host?.actors ?? [];
  return actor === undefined
    ? 'crosstalk actor add <name> --cli <command>'
    : `crosstalk ask ${escapeInvisible(actor.name)} "hello"`;
}
