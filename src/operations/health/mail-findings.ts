import type { HeldChange } from '../../protocol/approval/approval.ts';
import { changeText, pushedText } from '../../protocol/approval/text.ts';
import { endsByItself, reasonInWords, withoutSequences } from '../../protocol/text/words.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import { act, wait, type Finding } from './finding.ts';
import { heldProblems } from './held-agents.ts';
import { secretProblems } from './held-secrets.ts';
import type { Facts } from './report.ts';

/** Messages that wait longer than this in the outbox are stuck. */
const OUTBOX_LIMIT_S = 60;
/** The most of a kind that are named, so that a flood cannot hide other problems. */
export const NAMED = 5;

/** What keeps mail of this machine from getting on, by the records of its state. */
export function mailProblems(facts: Facts): Finding[] {
  const { paused, holds, host, parked, dead_letters: letters, held, held_secrets: secrets } = facts;
  return [
    ...(paused === null
      ? []
      : [
          act(
            `paused by ${paused.by} since ${paused.since}; go on with: crosstalk resume`,
            'crosstalk resume',
          ),
        ]),
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

type Parked = Heartbeat['parked'][number];

/** What to say of mail that a limit or a budget keeps waiting; of an account, its hold says it. */
function parkedFinding({ actor, tier, reason, until, said, instead }: Parked): Finding[] {
  if (reason === 'no_sandbox')
    return [act(`mail for ${actor} waits, because its tier ${tier} has a sandbox: ${said ?? ''}`)];
  if (reason === 'max_runs_per_hour')
    return [
      wait(
        `mail for ${actor} is parked until ${until}: its tier ${tier} has used up max_runs_per_hour; look for a loop, or raise it in the host file`,
      ),
    ];
  if (reason !== 'budget' && reason !== 'thread_budget') return [];
  const command = `crosstalk resume --for ${actor}`;
  const why = withoutSequences(said ?? reasonInWords(reason));
  const ends = endsByItself(reason);
  if (instead !== undefined)
    return [wait(`${actor} runs on ${instead}${ends ? ` until ${until}` : ''}: ${why}`)];
  return [
    ends
      ? wait(
          `mail for ${actor} waits until ${until}: ${why}; let it run now with: ${command}`,
          command,
        )
      : act(`mail for ${actor} waits: ${why}; let it run with: ${command}`, command),
  ];
}

/** What does not leave the outbox, or does not come out of the clone. */
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
  if (old.length > 0)
    problems.push(
      act(
        `waiting in the outbox: ${String(old.length)}, the oldest for ${String(Math.max(...old.map(({ age_s: age }) => age)))} s; push them with: crosstalk sync`,
        'crosstalk sync',
      ),
    );
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

type Letter = Facts['dead_letters'][number];

/** What is said of dead letters: which, how they are counted, and what to do. */
const LETTERS: {
  has: (letter: Letter) => boolean;
  says: string;
  see: string;
  command?: string;
  ends?: true;
}[] = [
  {
    has: ({ state }) => state === 'quarantined',
    says: 'quarantined deliveries',
    see: 'see them with: crosstalk dlq, try again with: crosstalk dlq --retry all',
    command: 'crosstalk dlq --retry all',
  },
  {
    has: isParkedFor('missing_secret'),
    says: 'parked deliveries whose tools lack a secret',
    see: 'see which with: crosstalk dlq, and once this machine keeps it, let them run with: crosstalk dlq --retry <id>',
  },
  {
    has: isParkedFor('no_planning'),
    says: 'parked deliveries whose tier has a gate, and no command that plans',
    see: 'see them with: crosstalk dlq',
  },
  {
    has: isParkedFor('no_sandbox'),
    says: 'parked deliveries whose sandbox cannot be made',
    see: 'see why with: crosstalk dlq, and then let them run with: crosstalk dlq --retry <id>',
  },
  {
    has: ({ state }) => state === 'parked',
    says: 'parked deliveries of threads that are too deep',
    see: 'look for a loop with: crosstalk dlq, let them run with: crosstalk dlq --retry <id>',
  },
  {
    has: ({ state }) => state === 'retrying',
    says: 'failed deliveries that are retried by themselves',
    see: 'see why with: crosstalk dlq',
    ends: true,
  },
];

function isParkedFor(wanted: Letter['reason']): (letter: Letter) => boolean {
  return ({ state, reason }) => state === 'parked' && reason === wanted;
}

function letterFindings(letters: readonly Letter[]): Finding[] {
  const kinds = letters.map((letter) => LETTERS.find(({ has }) => has(letter)));
  return LETTERS.flatMap((kind) => {
    const count = kinds.filter((one) => one === kind).length;
    const problem = `${kind.says}: ${String(count)}; ${kind.see}`;
    return count === 0
      ? []
      : [(kind.ends === true ? wait : act)(problem, kind.command ?? 'crosstalk dlq')];
  });
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

/** A line for each held change, and one for those for which there is no room. */
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
