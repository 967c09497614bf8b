import { readRecords } from '../../actions/state/local.ts';
import type { Context } from '../../actions/context.ts';
import { triedInSandbox } from '../../actions/sandbox/run.ts';
import { changingHost } from '../../actions/setup/hosts.ts';
import { removeWithProfile, setWithProfile } from '../../actions/setup/edit-actor.ts';
import type { ApprovedOptions } from '../../protocol/approval/record.ts';
import { optionText } from '../../protocol/approval/approval.ts';
import { TIER_OPTIONS } from '../../protocol/files/tier-options.ts';
import { given, inTransport, note, print, type Call } from '../command/command.ts';
import { HOST, type CommandSpec } from '../command/spec.ts';

/** Meaning of each option of a tier; docs/reference.md is written from it. */
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
const TIER_OPTION_LINES: readonly string[] = TIER_OPTIONS.map(
  (option) => `  ${option.padEnd(WIDTH)}${MEANINGS[option] ?? ''}`,
);

const SERVE_LINE = `  ${'serve'.padEnd(WIDTH)}one: of all hosts that serve it, one takes each task; all: each of them`;

export const commands: readonly CommandSpec[] = [
  {
    name: 'actor set',
    args: '<name> <options...>',
    summary: 'change options of an actor on this machine, and approve them',
    options: [['--tier <tier>', 'of this tier (default: the first one)'], HOST],
    details: `Options of a tier; <option>= goes back to its default:\n${TIER_OPTION_LINES.join('\n')}\nIn its profile, for all hosts that serve it:\n${SERVE_LINE}`,
    example: 'crosstalk actor set reviewer count=2 timeout=30m',
    run: set,
  },
  {
    name: 'actor remove',
    args: '<name>',
    summary: 'let this machine no longer serve an actor; its mail stays',
    details:
      'Its profile is removed too, unless another host serves it; git has it still, and what is printed says how to have it back.',
    options: [['--tier <tier>', 'only this tier'], HOST],
    example: 'crosstalk actor remove reviewer',
    run: remove,
  },
];

/** Warns where the program of an actor does not even start in its new sandbox. */
export async function tryInSandbox(
  call: Call,
  context: Context,
  actor: string,
  cli: string,
): Promise<void> {
  const problem = await triedInSandbox(context, { actor, cli });
  if (problem !== undefined)
    note(
      call,
      `its program does not start in the sandbox, so mail for ${actor} would fail: ${problem}; try it with: crosstalk sandbox run --actor ${actor} -- <command>`,
    );
}

function set(call: Call): Promise<number> {
  const [name = '', ...settings] = call.args.map((word) => word ?? '');
  return inTransport(call, async (context) => {
    const input = { name, settings, ...whose(call) };
    const done = await changingHost(context, () => setWithProfile(context, input));
    const { cli, sandbox } = done.now;
    if (typeof cli === 'string' && sandbox !== undefined && done.before['sandbox'] === undefined)
      await tryInSandbox(call, context, name, cli);
    return print(call, done, () => {
      const what = `${name}.${done.tier} on ${done.host}`;
      const lines = differences(done.before, done.now);
      return lines.length === 0 ? `${what}: nothing changed` : [what, ...lines].join('\n');
    });
  });
}

function remove(call: Call): Promise<number> {
  const name = call.args[0] ?? '';
  return inTransport(call, async (context) => {
    const { running } = await readRecords(context);
    const work = running.flatMap(({ actor, messages }) => (actor === name ? messages : []));
    const input = { name, ...whose(call) };
    const gone = await changingHost(context, () => removeWithProfile(context, input));
    const { host, tiers, left, servedBy, profile } = gone;
    const ends = left.length > 0 ? [] : work;
    const last = profile?.last;
    const json = {
      ...{ host, tiers, left, ends, served_by: servedBy },
      profile: last === undefined ? (profile?.path ?? null) : null,
      ...(last !== undefined && { profile_removed: profile?.path, profile_last_in: last }),
    };
    return print(call, json, () => {
      const what = left.length === 0 ? name : `${name} in the tier ${tiers.join(', ')}`;
      const where = servedBy.length === 0 ? 'no host' : servedBy.join(', ');
      return [
        `${host} no longer serves ${what}`,
        ...(left.length > 0
          ? []
          : [`Served now by: ${where}${servedBy.length === 0 ? '; mail for it waits' : ''}`]),
        ...(ends.length === 0
          ? []
          : [`Its run for ${ends.join(', ')} ends; whoever serves ${name} is given that`]),
        ...(profile === null || last === undefined
          ? []
          : [
              `Its profile is removed; once it is added again, it is back with: git show ${last.slice(0, 12)}:${profile.path} | crosstalk actor edit ${name} --file -`,
            ]),
      ].join('\n');
    });
  });
}

function whose(call: Call): { login: string; tier?: string; host?: string } {
  return { login: call.io.login, ...given(call, 'tier', 'host') };
}

/** Returns one line for each option that differs. */
export function differences(before: ApprovedOptions, now: ApprovedOptions): string[] {
  const options = new Set([...Object.keys(before), ...Object.keys(now)]);
  const value = (of: ApprovedOptions, option: string): string => {
    const found = of[option];
    return found === undefined ? 'default' : optionText(option, found);
  };
  return [...options]
    .map((option) => [option, value(before, option), value(now, option)] as const)
    .filter(([, was, is]) => was !== is)
    .map(([option, was, is]) => `  ${option}: ${was} -> ${is}`);
}
