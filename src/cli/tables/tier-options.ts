import { TIER_OPTIONS } from '../../protocol/files/tier-options.ts';

/** What each option of a tier does; docs/configuration.md has the details. */
const MEANINGS: Readonly<Record<string, string>> = {
  cli: 'the command line, or the name of a known agent CLI',
  workdir: 'the folder in which it works (default: a workspace for each thread)',
  count: 'how many runs may go on at once (default: 1)',
  timeout: 'how long a run may take (default: 10m)',
  attempts: 'how many runs may fail before its mail is quarantined (default: 3)',
  retry_delay: 'the wait before the first retry, then four times longer each (default: 2s)',
  max_runs_per_hour: 'further mail waits until the hour is over (default: 600)',
  max_depth: 'how many messages deep a thread may grow (default: 40)',
  max_usd_per_day: 'US dollars that its runs may cost in a day',
  max_tokens_per_day: 'tokens that its runs may use in a day, without those of a cache',
  max_usd_per_thread: 'US dollars that a thread may have cost before a run begins in it',
  fallback: 'the tiers that take its mail when it cannot: small, or [medium, small]',
  fallback_after: 'after how many failures they do (default: 2)',
  worktree: 'a git repository of which each thread gets a copy to work in',
  worktree_from: 'the branch, tag or remote branch with which a copy begins',
  worktree_push: 'the remote to which the branch of a thread is pushed after each run',
  before: 'a command line that is run once in each new copy, such as npm ci',
  sandbox: 'what a run may reach: default, or {write, read, hide, net, env}',
  only_from: 'whose signed tasks it serves: anna, [anna, bob], or pinned (default: everybody’s)',
  gate: 'who approves what a run is going to do, before it does it: a name, or asker',
  gate_plan: 'the command line that plans and changes nothing, for an unknown CLI',
  permit: 'who is asked when the CLI wants more than its flags allow: a name, or asker',
  permit_timeout: 'how long such a question waits, then it counts as denied (default: 10m)',
  session: 'fresh; resume: runs in a thread go on with one session; warm: with one process',
  session_max_turns: 'after how many runs a session is begun anew (default: 20)',
  history: 'how many earlier messages with whoever asks a new thread is shown, at most 200',
};

const WIDTH = Math.max(...TIER_OPTIONS.map((option) => option.length)) + 2;

/** A line for each option of a tier, for the help. */
export const TIER_OPTION_LINES: readonly string[] = TIER_OPTIONS.map(
  (option) => `  ${option.padEnd(WIDTH)}${MEANINGS[option] ?? ''}`,
);
