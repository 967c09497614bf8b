import { countOf } from '../../protocol/text/words.ts';
import { noDispatcherFor, remoteAway } from '../../present/holds.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { foreignClaim } from '../../bus/host.ts';
import type { Facts, Status } from './report.ts';
import { mailProblems, NAMED } from './mail-findings.ts';
import { act, wait, type Finding } from '../../present/finding.ts';
import { unservedProblems } from './nobody.ts';
import { silenceLimit, type Heartbeat } from '../../state/heartbeat.ts';
import type { Room } from '../../state/place/below.ts';

/** Verdict, with the findings that keep mail from moving, and those that somebody should look at all the same. */
export interface Judged extends Pick<Status, 'health'> {
  findings: Finding[];
  warnings: Finding[];
}

/**
 * Determines the verdict: healthy only while nothing is stuck (invariant 8). Every finding has a remedy. A pure
 * function.
 */
export function judge(facts: Facts, known: Known): Judged {
  const { version_problem: version, dispatcher } = facts;
  const isSilentHere = known.locked && dispatcher !== null && isSilent(dispatcher);
  const findings = [
    ...(version === null
      ? []
      : [
          act({
            check: 'protocol version',
            found: version,
            fix: 'until then nothing is delivered here',
          }),
        ]),
    ...(known.fault === undefined
      ? []
      : [
          act({
            check: 'state directory',
            found: `${facts.state_dir} is ${known.fault}`,
            fix: `chmod 700 ${facts.state_dir}, and give it to yourself`,
          }),
        ]),
    ...diskProblems(facts, { room: known.room, isTold: isSilentHere, isServed: known.locked }),
    ...dispatcherProblems(facts, known),
    ...claimProblems(facts),
    ...fileFindings(facts),
    ...mailProblems(facts),
    ...automationProblems(facts.dispatcher),
    ...unservedProblems(facts.unserved, known.now),
  ];
  const problems = findings.map(({ problem }) => problem);
  return {
    health: { ok: problems.length === 0, problems },
    findings,
    warnings: [...checkoutWarnings(known), ...malformedWarnings(facts), ...(known.claims ?? [])],
  };
}

/** Returns the reason why the checkout does not follow the bus, which keeps no mail from moving. */
function checkoutWarnings({ left }: Known): Finding[] {
  if (left === undefined) return [];
  const found = `the checkout is left as it is: ${left}`;
  const fix =
    'mail is not affected; once that is over, it follows again, or at once with: crosstalk sync';
  return [act({ check: 'checkout', found, fix }, 'crosstalk sync')];
}

/** Returns the number of malformed files, with the remedy; they keep no other mail from moving. */
function malformedWarnings({ malformed: [first], malformed_total: total }: Facts): Finding[] {
  if (first === undefined) return [];
  const what = `${escapeInvisible(first.path)}: ${escapeInvisible(first.reason)}`;
  const which = total === 1 ? 'one malformed file' : `${String(total)} malformed files, the first`;
  const found = `${which}: ${what}`;
  const fix =
    total === 1
      ? 'nobody reads it; correct or remove it, and push'
      : 'nobody reads them; correct or remove them, and push';
  return [act({ check: 'messages', found, fix })];
}

/** Most of them that are shown. */
const MOST_FILE_FINDINGS = 5;

/** Returns the problems of the host file and of profiles, which stay in force as they were or have no effect. */
function fileFindings({ host, profile_problems: profiles }: Facts): Finding[] {
  return [
    ...(host?.unknown ?? []).map((found) =>
      act({ check: 'host file', found, fix: `correct it in ${host?.path ?? ''}` }),
    ),
    ...profiles.map((found) =>
      act({ check: 'profile', found, fix: 'correct it with: crosstalk actor edit <name>' }),
    ),
  ].slice(0, MOST_FILE_FINDINGS);
}

/**
 * Other facts: whether a dispatcher holds the lock, and whether it answered just now; the room on the disk of the
 * state directory, and its other problems; the alias whose messages this machine serves; and why the checkout was
 * left.
 */
interface Known {
  now: Date;
  locked: boolean;
  answers: boolean;
  room: Room;
  served: string | undefined;
  fault?: string | undefined;
  left?: string | undefined;
  /** The names with a pinned key, where it matters. */
  pinned?: readonly string[];
  /** Claims that no host stands behind, and hosts that make none. */
  claims?: readonly Finding[];
}

/** Message of git for a disk without room. */
const NO_ROOM = /No space left on device|Disk quota exceeded/i;

function claimProblems({ host }: Facts): Finding[] {
  if (host === null) return [];
  const { alias, path, others } = host;
  const more = others.length - NAMED;
  return [
    ...others.slice(0, NAMED).map((other) => {
      const found = foreignClaim(other, { alias, path });
      return act({ check: 'host file', found, fix: '' });
    }),
    ...(more > 0 ? [act(`and ${String(more)} more files that claim to be of ${alias}`)] : []),
  ];
}

/** Whether a dispatcher's last report is too old: it hangs, or the disk takes no report. */
function isSilent({ age_s: age, interval }: { age_s: number; interval: number }): boolean {
  return age > silenceLimit(interval);
}

function dispatcherProblems(
  { dispatcher, host, host_problem: hostProblem, state_dir: folder }: Facts,
  { locked, room, served, answers, pinned }: Known,
): Finding[] {
  const problems: Finding[] = [];
  if (!locked) {
    // A machine that never served a host only sends, so another machine's broken file is not its
    // problem.
    if (host === null && hostProblem !== null && served !== undefined)
      problems.push(act(hostProblem));
    const alias = host?.alias ?? served;
    if (alias !== undefined) problems.push(act(noDispatcherFor(alias), 'crosstalk dispatch'));
  } else if (dispatcher === null) {
    problems.push(wait('a dispatcher has started and not reported yet; look again in a moment'));
  } else {
    if (isSilent(dispatcher)) {
      const silence = `the dispatcher (process ${String(dispatcher.pid)}) has not reported for ${String(dispatcher.age_s)} s`;
      const full = fullDisk(folder, room);
      if (full !== undefined)
        problems.push(
          act(
            `${full}, and ${silence}: it may hold answers that it cannot record; make room, and do not stop it before`,
          ),
        );
      else if (dispatcher.record_failing_since === undefined)
        problems.push(
          act(
            answers
              ? `${silence}, and answers: let ${folder} take writes; if it does, restart it`
              : `${silence}; restart it`,
          ),
        );
    }
    if (dispatcher.fetch_failing_since !== undefined) {
      const { fetch_failing_since: since, fetch_error: error = '' } = dispatcher;
      const what = NO_ROOM.test(error)
        ? 'nothing can be fetched, for want of room here,'
        : 'the remote cannot be reached';
      problems.push(
        act(
          `${remoteAway(what, since, error)}; it is tried again automatically`,
          'crosstalk doctor',
        ),
      );
    }
    if (dispatcher.push_failing_since !== undefined) {
      problems.push(
        act(
          `pushing fails since ${dispatcher.push_failing_since}: ${dispatcher.push_error ?? ''}; it is tried again automatically`,
          'crosstalk doctor',
        ),
      );
    }
    if (dispatcher.alias_shared !== undefined) {
      const { alias, count, newest } = dispatcher.alias_shared;
      problems.push(
        act(
          `somebody else writes as this host, ${alias}: ${countOf(count, 'message')} of which this state has no record, the newest ${newest}; a copy of this machine or of its state answers everything twice: stop one of them and restart this, or somebody forges it; or the state was put back from a backup, and its budgets do not count what ran since${broughtBack(pinned, host)}`,
        ),
      );
    }
    if (dispatcher.record_failing_since !== undefined) {
      problems.push(
        act(
          `do not restart: an answer is in memory, which cannot be put on record since ${dispatcher.record_failing_since}: ${dispatcher.record_error ?? ''}; remove the reason (where the disk is full, make room), and it is tried again automatically`,
        ),
      );
    }
    if (dispatcher.stalled_since !== undefined) {
      problems.push(
        act(
          `the dispatcher's work fails since ${dispatcher.stalled_since}: ${dispatcher.stall_error ?? ''}; it is tried again automatically`,
          'crosstalk doctor',
        ),
      );
    }
    const trouble = dispatcher.host_problem ?? hostProblem;
    if (trouble !== null) problems.push(act(trouble));
  }
  return problems;
}

/** Names what a state that was put back believes although it may have been withdrawn since. */
function broughtBack(pinned: readonly string[] = [], host: Facts['host']): string {
  const named = (names: readonly string[]): string =>
    names.slice(0, NAMED).join(', ') +
    (names.length > NAMED ? ` and ${String(names.length - NAMED)} more` : '');
  const actors = (host?.actors ?? []).map(({ name }) => name);
  const parts = [
    ...(pinned.length === 0 ? [] : [`the pinned keys of ${named(pinned)} (crosstalk key list)`]),
    ...(actors.length === 0
      ? []
      : [`the approved commands of ${named(actors)} (crosstalk host show)`]),
  ];
  return parts.length === 0
    ? ''
    : `, and look whether what it believes still holds: ${parts.join(', ')}`;
}

/** Schedules and subscriptions of this machine that cannot be followed as they stand. */
function automationProblems(
  dispatcher: Pick<Heartbeat, 'schedules' | 'subscriptions'> | null,
): Finding[] {
  const { schedules = [], subscriptions = [] } = dispatcher ?? {};
  return [
    ...linesOf(
      'schedule',
      schedules.map(({ schedule: name, problem }) => ({ name, problem })),
    ),
    ...linesOf(
      'subscription',
      subscriptions.map(({ subscription: name, problem }) => ({ name, problem })),
    ),
  ];
}

/** @param all with a name that is empty for a problem that is not about a single one */
function linesOf(
  kind: 'schedule' | 'subscription',
  all: readonly { name: string; problem: string }[],
): Finding[] {
  const see = `crosstalk ${kind} list`;
  const lines = all
    .slice(0, NAMED)
    .map(({ name, problem }) =>
      act(`${name === '' ? '' : `${kind} ${escapeInvisible(name)}: `}${problem}; see: ${see}`, see),
    );
  const more = all.length - lines.length;
  return more > 0 ? [...lines, act(`and ${String(more)} more ${kind}s; see: ${see}`, see)] : lines;
}

/**
 * Reports a disk that takes nothing before anything that follows from it.
 *
 * @param known `isTold`: whether the reason why the dispatcher does not report is shown already; `isServed`: whether
 * a dispatcher runs
 */
function diskProblems(
  { state_dir: folder, host }: Pick<Status, 'state_dir' | 'host'>,
  { room, isTold, isServed }: { room: Room; isTold: boolean; isServed: boolean },
): Finding[] {
  if (room === 'little' && host !== null)
    return [act(`less than 8 MiB is free on the disk with ${folder}: no run can begin; make room`)];
  const full = fullDisk(folder, room);
  if (full === undefined || isTold) return [];
  const then = isServed ? 'make room, and do not stop the dispatcher before' : 'make room';
  return [act(`${full}: nothing can be sent, fetched or recorded; ${then}`)];
}

/** Returns what a disk lacks; undefined for one that takes something. */
function fullDisk(folder: string, room: Room): string | undefined {
  if (room === 'none') return `the disk with ${folder} is full`;
  return room === 'no_inodes'
    ? `the disk with ${folder} has no inode left for another file`
    : undefined;
}
