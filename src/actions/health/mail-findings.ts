import { type HeldChange, changeText, pushedText } from '../../protocol/approval/approval.ts';
import { act, wait, type Finding } from '../../present/finding.ts';
import { outboxFinding, parkedFinding, pausedFinding } from '../../present/findings.ts';
import { letterFindings } from '../../present/letter-findings.ts';
import { endsByItself } from '../../protocol/text/words.ts';
import { heldProblems } from './held-agents.ts';
import { secretProblems } from './held-secrets.ts';
import type { Facts } from './report.ts';

/** Messages that wait longer than this in the outbox are stuck. */
const OUTBOX_LIMIT_S = 60;
/** The most of a kind that are named, so that a flood cannot hide other problems. */
export const NAMED = 5;

/** Returns the problems that keep mail of this machine from moving, by the records of its state. */
export function mailProblems(facts: Facts): Finding[] {
  const { paused, holds, host, parked, dead_letters: letters, held, held_secrets: secrets } = facts;
  return [
    ...(paused === null ? [] : [pausedFinding(paused)]),
    ...heldProblems(holds, host?.actors, parked).map(({ hold, problem: found }) => {
      const said = { check: `account of ${hold.id}`, found, fix: '' };
      return endsByItself(hold.reason)
        ? wait(said, 'crosstalk resume')
        : act(said, hold.reason === 'not_logged_in' ? hold.login : 'crosstalk resume');
    }),
    ...parked.flatMap(parkedFinding),
    ...outboxProblems(facts),
    ...secretProblems(secrets),
    ...letterFindings(letters),
    ...toolProblems(host?.actors ?? []),
    ...changeProblems(held),
    ...fileProblems(facts),
  ];
}

/** Returns the problems of entries that do not leave the outbox, or do not come out of the clone. */
function outboxProblems(facts: Facts): Finding[] {
  const { dispatcher, transport, outbox, push_budget: budget, set_aside: aside } = facts;
  const problems: Finding[] = [];
  const unread = dispatcher?.unread ?? 0;
  if (unread > 0)
    problems.push(
      act(
        `messages whose content is missing from this clone: ${String(unread)}; remove damaged object files (git -C ${transport} fsck names them), then get them with: git -C ${transport} fetch --refetch origin`,
      ),
    );
  // The push budget of a remote may hold messages back for up to a minute, which is not a problem.
  const limit = (budget?.next_at ?? null) === null ? OUTBOX_LIMIT_S : 2 * OUTBOX_LIMIT_S;
  const old = outbox.filter(({ age_s: age }) => age > limit);
  if (old.length > 0) problems.push(outboxFinding(old.map(({ age_s: age }) => age)));
  for (const { at, reason, files } of aside.slice(0, NAMED))
    problems.push(
      act(
        `not published, kept aside since ${at}: ${files[0] ?? 'an entry'}: ${reason}; try it again with: crosstalk sync --retry`,
        'crosstalk sync --retry',
      ),
    );
  if (aside.length > NAMED)
    problems.push(act(`and ${String(aside.length - NAMED)} more that are kept aside`));
  return problems;
}

/** Tools that no run of an actor can be given. */
function toolProblems(actors: NonNullable<Facts['host']>['actors']): Finding[] {
  return actors.flatMap(({ name, tools = [] }) => {
    const missing = [...new Set(tools.flatMap((tool) => tool.missing))];
    const [command, ...more] = missing.map((secret) => `crosstalk secret set ${secret}`);
    if (command === undefined) return [];
    const give = [command, ...more].join('; ');
    return [
      act(
        `the tools of ${name} need ${missing.join(', ')}, which this machine does not keep, or cannot read, so its mail is parked; give it with: ${give}`,
        command,
      ),
    ];
  });
}

/** Returns a line for each held change, and one for those for which there is no room. */
function changeProblems(held: readonly HeldChange[]): Finding[] {
  const check = 'held change';
  const show = 'crosstalk host show';
  const lines = held.slice(0, NAMED).map((change) => {
    const origin = pushedText(change);
    const what = `${changeText(change)}${origin === undefined ? '' : `; ${origin}`}`;
    if (change.refused !== undefined) return act({ check, found: `held: ${what}`, fix: '' });
    const fix = `look at it with: ${show}, accept it with: crosstalk host approve ${change.digest}, refuse it with: crosstalk host reject ${change.digest}`;
    return act({ check, found: `held until approved: ${what}`, fix }, show);
  });
  const more = held.length - lines.length;
  const found = `and ${String(more)} more held changes`;
  return more > 0 ? [...lines, act({ check, found, fix: `see them with: ${show}` }, show)] : lines;
}

/** Locks of a git that was killed, and files of the state that cannot be read. */
function fileProblems({ stale_locks: locks, broken_state_files: broken }: Facts): Finding[] {
  return [
    ...locks.map((path) =>
      act({
        check: 'lock',
        found: `${path} was left by a git that was killed`,
        fix: `if no git runs there: rm ${path}`,
      }),
    ),
    ...broken.map((path) =>
      act(
        path.endsWith('.broken')
          ? `${path} could not be read, or was not written by this machine, and was set aside; look into it by hand`
          : `${path} was written by crosstalk 6.0, and is neither sent nor tried again; look into it, do what it asks for, and delete it`,
      ),
    ),
  ];
}
