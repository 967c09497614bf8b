import { countOf } from '../../protocol/text/amounts.ts';
import { endsByItself } from '../../protocol/text/words.ts';
import { heldProblems } from './held-agents.ts';
import { toolProblems } from './actor-tools.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { foreignClaim } from '../../bus/host.ts';
import { fileFindings, type Status } from './report.ts';
import { secretProblems } from './held-secrets.ts';
import { unservedProblems } from './nobody.ts';
import { silenceLimit, type Heartbeat } from '../../state/heartbeat.ts';
import type { Room } from '../../state/place/room.ts';
import type { HeldChange } from '../../protocol/approval/approval.ts';
import { changeText, pushedText } from '../../protocol/approval/text.ts';
import { noDispatcher, remoteAway } from '../../present/holds.ts';
import { act, wait, type Finding } from '../../present/finding.ts';
import { letterFindings } from '../../present/letter-findings.ts';
import { parkedFinding } from '../../present/findings.ts';

/** Messages that wait longer than this in the outbox are stuck. */
const OUTBOX_LIMIT_S = 60;

/**
 * The verdict: healthy only while nothing is stuck (invariant 8). Every problem says what to do.
 *
 * @param known `locked`: whether a dispatcher holds the lock; `answers`: whether it answered just now; `room`: how
 *   much the disk of the state directory has; `served`: the alias whose messages this machine serves, if known
 */
export function judge(facts: Facts, known: Known): Pick<Status, Verdict> {
  const { version_problem: version, dispatcher } = facts;
  const isSilentHere = known.locked && dispatcher !== null && isSilent(dispatcher);
  const findings = [
    ...(version === null ? [] : [act(`${version}; until then nothing is delivered here`)]),
    ...diskProblems(facts, { room: known.room, isTold: isSilentHere, isServed: known.locked }),
    ...dispatcherProblems(facts, known),
    ...claimProblems(facts),
    ...fileFindings(facts),
    ...mailProblems(facts),
    ...automationProblems(facts.dispatcher),
    ...unservedProblems(facts.unserved, known.now),
  ];
  const problems = findings.map(({ problem }) => problem);
  const health = { ok: problems.length === 0, problems };
  return { health, findings, warnings: malformedWarnings(facts) };
}

type Verdict = 'health' | 'findings' | 'warnings';
/** What is judged. */
export type Facts = Omit<Status, Verdict>;

/** Says of malformed files how many there are, and what to do; they keep no other mail from getting on. */
function malformedWarnings({ malformed: [first], malformed_total: total }: Facts): string[] {
  if (first === undefined) return [];
  const what = `${escapeInvisible(first.path)}: ${escapeInvisible(first.reason)}`;
  const which = total === 1 ? 'one malformed file' : `${String(total)} malformed files, the first`;
  return [
    `${which}: ${what}; nobody reads ${total === 1 ? 'it; correct or remove it' : 'them; correct or remove them'}, and push`,
  ];
}

interface Known {
  now: Date;
  locked: boolean;
  answers: boolean;
  room: Room;
  served: string | undefined;
}

/** What git says of a disk without room. */
const NO_ROOM = /No space left on device|Disk quota exceeded/i;

/** The most files claiming to be this machine's that are named. */
const NAMED_CLAIMS = 5;

function claimProblems({ host }: Facts): Finding[] {
  if (host === null) return [];
  const { alias, path, others } = host;
  const more = others.length - NAMED_CLAIMS;
  return [
    ...others.slice(0, NAMED_CLAIMS).map((other) => act(foreignClaim(other, { alias, path }))),
    ...(more > 0 ? [act(`and ${String(more)} more files that claim to be of ${alias}`)] : []),
  ];
}

/** Whether a dispatcher's last report is too old: it hangs, or the disk takes no report. */
function isSilent({ age_s: age, interval }: { age_s: number; interval: number }): boolean {
  return age > silenceLimit(interval);
}

function dispatcherProblems(
  { dispatcher, host, host_problem: hostProblem, state_dir: folder }: Facts,
  { locked, room, served, answers }: Known,
): Finding[] {
  const problems: Finding[] = [];
  if (!locked) {
    // A machine that never served a host only sends, so another machine's broken file is not its
    // problem.
    if (host === null && hostProblem !== null && served !== undefined)
      problems.push(act(hostProblem));
    const alias = host?.alias ?? served;
    if (alias !== undefined) problems.push(act(noDispatcher(alias), 'crosstalk dispatch'));
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
          `somebody else writes as this host, ${alias}: ${countOf(count, 'message')} of which this state has no record, the newest ${newest}; a copy of this machine or of its state answers everything twice: stop one of them and restart this, or somebody forges it; or the state was put back from a backup, and its budgets do not count what ran since`,
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

function mailProblems({
  transport,
  paused,
  holds,
  parked,
  dispatcher,
  outbox,
  set_aside: aside,
  held_secrets: secrets,
  dead_letters: letters,
  push_budget: budget,
  host,
  held,
  broken_state_files: broken,
  stale_locks: locks,
}: Facts): Finding[] {
  const problems: Finding[] = [];
  if (paused !== null) {
    problems.push(
      act(
        `paused by ${paused.by} since ${paused.since}; go on with: crosstalk resume`,
        'crosstalk resume',
      ),
    );
  }
  for (const { hold, problem } of heldProblems(holds, host?.actors, parked))
    problems.push(
      endsByItself(hold.reason)
        ? wait(problem, 'crosstalk resume')
        : act(problem, hold.reason === 'not_logged_in' ? hold.login : 'crosstalk resume'),
    );
  problems.push(...parked.flatMap(parkedFinding));
  const unread = dispatcher?.unread ?? 0;
  if (unread > 0) {
    problems.push(
      act(
        `messages whose content is missing from this clone: ${String(unread)}; remove damaged object files (git -C ${transport} fsck names them), then get them with: git -C ${transport} fetch --refetch origin`,
      ),
    );
  }
  // The push budget of a remote may hold messages back for up to a minute, which is not a problem.
  const limit = (budget?.next_at ?? null) === null ? OUTBOX_LIMIT_S : 2 * OUTBOX_LIMIT_S;
  const old = outbox.filter(({ age_s: age }) => age > limit);
  if (old.length > 0) {
    problems.push(
      act(
        `waiting in the outbox: ${String(old.length)}, the oldest for ${String(Math.max(...old.map(({ age_s: age }) => age)))} s; push them with: crosstalk sync`,
        'crosstalk sync',
      ),
    );
  }
  for (const { at, reason, files } of aside.slice(0, NAMED_CHANGES)) {
    problems.push(
      act(
        `not published, kept aside since ${at}: ${files[0] ?? 'an entry'}: ${reason}; try it again with: crosstalk sync --retry`,
        'crosstalk sync --retry',
      ),
    );
  }
  if (aside.length > NAMED_CHANGES)
    problems.push(act(`and ${String(aside.length - NAMED_CHANGES)} more that are kept aside`));
  problems.push(...secretProblems(secrets));
  problems.push(...letterFindings(letters), ...toolProblems(host?.actors ?? []));
  problems.push(...changeProblems(held));
  for (const path of locks)
    problems.push(
      act(`${path} was left by a git that was killed; if no git runs there: rm ${path}`),
    );
  for (const path of broken)
    problems.push(
      act(
        path.endsWith('.broken')
          ? `${path} could not be read, or was not written by this machine, and was set aside; look into it by hand`
          : `${path} was written by crosstalk 6.0, and is neither sent nor tried again; look into it, do what it asks for, and delete it`,
      ),
    );
  return problems;
}

/** The most of a kind that are named, so that a flood cannot hide other problems. */
const NAMED = 5;

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

/** @param all with a name that is empty for what is about no single one */
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
 * A disk that takes nothing is told before anything that follows from it.
 *
 * @param known `isTold`: whether it is told already why the dispatcher does not report; `isServed`: whether a
 *   dispatcher runs
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

/** Says of a disk what it lacks; undefined for one that takes something. */
function fullDisk(folder: string, room: Room): string | undefined {
  if (room === 'none') return `the disk with ${folder} is full`;
  return room === 'no_inodes'
    ? `the disk with ${folder} has no inode left for another file`
    : undefined;
}

/** The most files of a kind that are named, so that a flood cannot hide other problems. */
const NAMED_CHANGES = 5;

function pushed(change: HeldChange): string {
  const text = pushedText(change);
  return text === undefined ? '' : `; ${text}`;
}

/** A line for each held change, and one for those for which there is no room. */
function changeProblems(held: readonly HeldChange[]): Finding[] {
  const lines = held
    .slice(0, NAMED_CHANGES)
    .map((change) =>
      change.refused === undefined
        ? act(
            `held until approved: ${changeText(change)}${pushed(change)}; look at it with: crosstalk host show, accept it with: crosstalk host approve ${change.digest}, refuse it with: crosstalk host reject ${change.digest}`,
            'crosstalk host show',
          )
        : act(`held: ${changeText(change)}${pushed(change)}`),
    );
  const more = held.length - lines.length;
  return more > 0
    ? [
        ...lines,
        act(
          `and ${String(more)} more held changes; see them with: crosstalk host show`,
          'crosstalk host show',
        ),
      ]
    : lines;
}
