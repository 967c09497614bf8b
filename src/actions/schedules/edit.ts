import { assertWhole } from '../whole-text.ts';
import { machineZone, noZone } from '../clock.ts';
import { CrosstalkError } from '../../errors.ts';
import { scheduledMessage } from '../../protocol/automation/occurrences.ts';
import { parseSchedule, zoneOf } from '../../protocol/automation/schedule.ts';
import { scheduleFile, isName } from '../../protocol/layout.ts';
import { authorOf, outgoing } from '../../protocol/outgoing.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { formatDocument, type HeaderFields } from '../../protocol/text/frontmatter.ts';
import { withEnabled, withoutLines } from '../../protocol/automation/fields.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliverOrNote, type Delivered } from '../deliver.ts';
import { noteUnserved, senderOfAdded } from '../lookup/people.ts';
import { resolveChannel, resolveFrom } from '../lookup/resolve.ts';
import { knownHost } from '../setup/approvals.ts';
import { findSchedule, upcomingOf } from './list.ts';

/** The content of a new schedule, as texts; undefined values are left out of its file. */
export interface ScheduleInput {
  name: string;
  to: string;
  body: string;
  /** The alias of the host that sends it; by default this machine's. */
  host?: string;
  /** Header fields under their names in the file. */
  fields: Readonly<Record<string, string | undefined>>;
  /** Name that receives the answers; by default the person who adds the schedule. */
  from: string | undefined;
  login: string;
}

/** The file that was written, and its consequences. */
export interface EditedSchedule {
  name: string;
  path: string;
  /** The times of its next occurrences, as ISO 8601 in UTC. */
  upcoming: string[];
  delivered: Delivered;
}

const UPCOMING = 3;

/**
 * Writes a new schedule.
 *
 * @throws CrosstalkError `usage` for invalid values, and for a name that is taken
 */
export async function addSchedule(context: Context, input: ScheduleInput): Promise<EditedSchedule> {
  const { name, to, body, login } = input;
  if (!isName(name))
    throw new CrosstalkError(
      'usage',
      `${shown(name)} is no name for a schedule: use a to z, 0 to 9 and -`,
    );
  await refreshOrNote(context);
  const host = input.host ?? (await knownHost(context, undefined)).host?.alias;
  if (host === undefined)
    throw new CrosstalkError(
      'usage',
      'which host sends it is not known; say it with --host <alias>',
    );
  const given = Object.entries(input.fields).filter(([, value]) => value !== undefined);
  const from = senderOfAdded(context, { to, from: input.from, login });
  const fields: HeaderFields = {
    ...{ host, to, ...(from !== undefined && { from }) },
    ...Object.fromEntries(given),
  };
  const text = formatDocument(fields, body.endsWith('\n') ? body : `${body}\n`);
  const parsed = parseSchedule(text, name);
  if (!parsed.ok)
    throw new CrosstalkError('usage', `this is no schedule: ${withoutLines(parsed.problems)}`);
  if (zoneOf(parsed.value, machineZone()) === undefined)
    throw new CrosstalkError('usage', `${noZone()}; give --timezone`);
  const upcoming = upcomingOf(context, parsed.value, UPCOMING);
  if (upcoming.length === 0)
    throw new CrosstalkError(
      'usage',
      'it would never be due: that time is over, or in its quiet hours; give another --cron, --every or --at',
    );
  await resolveChannel(context, parsed.value.channel);
  const path = scheduleFile(name);
  if ((await context.reader.text(await tipOf(context), path)) !== undefined)
    throw new CrosstalkError(
      'usage',
      `there is a schedule ${name} already; see it with: crosstalk schedule show ${name}, or remove it first`,
    );
  const delivered = await put(context, { path, text, login, was: null, author: input.from }, name);
  await noteUnserved(context, parsed.value);
  return { name, path, upcoming, delivered };
}

/**
 * Pauses or resumes a schedule: changes one line of its file. Occurrences that passed during the pause
 * are not made up for.
 *
 * @throws CrosstalkError `not_found`, and `refused` for a file that cannot be read
 */
export async function enableSchedule(
  context: Context,
  input: { name: string; enabled: boolean; login: string },
): Promise<EditedSchedule> {
  await refreshOrNote(context);
  const { name, enabled, login } = input;
  const { path, text, oid, result } = await findSchedule(context, name);
  assertWhole(text, path);
  const changed = withEnabled(text, enabled);
  const parsed = parseSchedule(changed, name);
  if (!result.ok || !parsed.ok)
    throw new CrosstalkError(
      'refused',
      `${escapeInvisible(path)} cannot be read: ${(result.ok ? [] : result.problems).join('; ')}; correct it first`,
    );
  const delivered = await put(context, { path, text: changed, login, was: oid }, name);
  return { name, path, upcoming: upcomingOf(context, parsed.value, UPCOMING), delivered };
}

/**
 * Removes a schedule.
 *
 * @throws CrosstalkError `not_found`
 */
export async function removeSchedule(
  context: Context,
  input: { name: string; login: string },
): Promise<EditedSchedule> {
  await refreshOrNote(context);
  const { name, login } = input;
  const { path, oid } = await findSchedule(context, name);
  const delivered = await put(context, { path, login, was: oid }, name);
  return { name, path, upcoming: [], delivered };
}

/**
 * Sends the message of a schedule now, from any machine, independently of its occurrences.
 *
 * @returns the message's place
 * @throws CrosstalkError `not_found`, and `refused` for a file that cannot be read
 */
export async function runSchedule(
  context: Context,
  { name }: { name: string },
): Promise<{ name: string; channel: string; relPath: string; delivered: Delivered }> {
  await refreshOrNote(context);
  const { path, result } = await findSchedule(context, name);
  if (!result.ok)
    throw new CrosstalkError(
      'refused',
      `${escapeInvisible(path)} cannot be read: ${result.problems.join('; ')}`,
    );
  const channel = await resolveChannel(context, result.value.channel);
  // The operator who requests it now writes it, not a dispatcher: like any message of an operator it
  // names no host.
  const message = scheduledMessage(result.value, context.now(), undefined);
  const { hostname, suffix } = context;
  const { relPath, commit } = outgoing(message, channel.id, hostname, suffix());
  const delivered = await deliverOrNote(context, [commit]);
  return { name, channel: channel.id, relPath, delivered };
}

interface Edit {
  path: string;
  /** The new text; undefined to remove the file. */
  text?: string;
  login: string;
  author?: string | undefined;
  /**
   * The object that was read at the path; null when there was none. A change by somebody else is never
   * overwritten.
   */
  was: string | null;
}

function put(
  context: Context,
  { path, text, login, author, was }: Edit,
  name: string,
): Promise<Delivered> {
  const from = resolveFrom(context, author, login);
  return deliverOrNote(context, [
    {
      at: context.now().toISOString(),
      author: authorOf(from, context.hostname),
      subject: `crosstalk: schedule ${name}${text === undefined ? ' removed' : ''}`,
      files: text === undefined ? [] : [{ path, content: text }],
      ...(text === undefined && { clear: path }),
      requires: [{ path, oid: was }],
    },
  ]);
}
