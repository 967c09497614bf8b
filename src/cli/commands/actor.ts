import { CrosstalkError } from '../../errors.ts';
import { listActors, showActor } from '../../operations/setup/actors.ts';
import type { Context } from '../../operations/context.ts';
import { triedInSandbox } from '../../operations/sandbox/run.ts';
import { sandboxSuggestion } from '../../operations/setup/workdir-option.ts';
import { shownServers } from '../../operations/setup/actor-servers.ts';
import { addActor, type AddedActor, namesOfHands } from '../../operations/setup/add-actor.ts';
import { changingHost } from '../../operations/setup/hosts.ts';
import { readRecords } from '../../operations/state/local.ts';
import { removeWithProfile } from '../../operations/setup/remove-actor.ts';
import { setActor } from '../../operations/setup/set-actor.ts';
import type { ApprovedOptions } from '../../protocol/approval/record.ts';
import { optionText } from '../../protocol/approval/text.ts';
import {
  flag,
  given,
  inTransport,
  isYes,
  note,
  print,
  text,
  type Call,
} from '../command/command.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { served, toolRows } from '../view/machine.ts';
import { colourless, table } from '../view/render.ts';

export function run(call: Call): Promise<number> {
  switch (call.name) {
    case 'actor add':
      return add(call);
    case 'actor set':
      return set(call);
    case 'actor remove':
      return remove(call);
    case 'actor show':
      return show(call);
    default:
      return list(call);
  }
}

function list(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const actors = await listActors(context);
    return print(call, actors, () =>
      table(actors.map((actor) => [actor.name, served(actor), escapeInvisible(actor.description)])),
    );
  });
}

function show(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const shown = await showActor(context, call.args[0] ?? '');
    // What is approved is known to the operator of the machine, and not to a run.
    const tools = call.io.agentMode === undefined && (await shownServers(context, shown.name));
    const actor = {
      ...shown,
      ...(tools !== false && { mcps: tools.servers, mcps_left_out: tools.without }),
    };
    return print(call, actor, () =>
      [
        table([
          ['name', actor.name],
          ['description', escapeInvisible(actor.description)],
          ['profile', actor.profile ?? 'none'],
          ['served by', served(actor)],
          ...toolRows(tools),
        ]),
        '',
        colourless(actor.body).trim(),
      ].join('\n'),
    );
  });
}

function add(call: Call): Promise<number> {
  const cli = text(call, 'cli');
  if (cli === undefined)
    throw new CrosstalkError(
      'usage',
      '--cli is missing; name an agent CLI or a command line, as in: --cli claude',
    );
  return inTransport(call, async (context) => {
    const [name = ''] = call.args;
    const count = text(call, 'count');
    const hand = { ...given(call, 'host'), name, count: count ?? '' };
    const names = count === undefined ? [name] : await namesOfHands(context, hand);
    if (count !== undefined)
      note(
        call,
        `--count adds actors, each with a name of its own; for ${count} runs of one actor at a time: crosstalk actor set <name> count=${count}`,
      );
    const { sandbox } = call.options;
    const isTold = call.io.ask !== undefined && !flag(call, 'json');
    const suggested = new Set<string>();
    const all: AddedActor[] = [];
    for (const one of names) {
      const input = {
        name: one,
        cli,
        tier: text(call, 'tier') ?? 'default',
        ...given(call, 'description', 'host', 'workdir', 'worktree'),
        ...(count !== undefined && { like: name }),
        ...(typeof sandbox === 'boolean' && { wantsSandbox: sandbox }),
        ...(isTold && {
          suggestSandbox: () => {
            suggested.add(one);
          },
        }),
        login: call.io.login,
        mayReplace: (before: ApprovedOptions, now: ApprovedOptions) =>
          mayReplace(call, one, before, now),
      };
      // Whoever is asked may take their time, and the file is read again once they have answered.
      const mayAsk = call.io.ask !== undefined && !flag(call, 'replace');
      const done = mayAsk
        ? await addActor(context, input)
        : await changingHost(context, () => addActor(context, input));
      all.push(done);
      if (done.sandbox !== undefined) await tryInSandbox(call, context, one, done.cli);
    }
    const named = all.map((done, at) => ({ name: names[at] ?? '', ...done }));
    return print(call, count === undefined ? all[0] : named, () =>
      named
        .flatMap((added) => [
          `${added.host} serves ${added.name}, run by: ${added.cli}${added.sandbox === undefined ? '' : ', in a sandbox'}`,
          ...(added.path === undefined ? [] : [`Profile to fill in: ${added.path}`]),
          ...(suggested.has(added.name) ? [sandboxSuggestion(added.name)] : []),
        ])
        .join('\n'),
    );
  });
}

/** Warns where the program of an actor does not even start in its new sandbox. */
async function tryInSandbox(
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

/**
 * Shows what is replaced by what, and asks if there is a terminal.
 *
 * @throws CrosstalkError `refused` where there is none to ask on, and no `--replace`
 */
async function mayReplace(
  call: Call,
  name: string,
  before: ApprovedOptions,
  now: ApprovedOptions,
): Promise<boolean> {
  const { io } = call;
  const tier = `${name}.${text(call, 'tier') ?? 'default'}`;
  const what = before['cli'] === undefined ? `${name} has a profile` : `${tier} is served`;
  note(call, `${what} already, and changes:`);
  io.err(`${differences(before, now).join('\n')}\n`);
  if (flag(call, 'replace')) return true;
  if (io.ask !== undefined) return isYes(await io.ask('Replace it? [y/N] '));
  throw new CrosstalkError(
    'refused',
    `nothing was changed; replace it with --replace, or change single options with: crosstalk actor set ${name} <option>=<value>`,
  );
}

function set(call: Call): Promise<number> {
  const [name = '', ...settings] = call.args.map((word) => word ?? '');
  return inTransport(call, async (context) => {
    const input = { name, settings, ...whose(call) };
    const done = await changingHost(context, () => setActor(context, input));
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

/** One line for each option that differs. */
function differences(before: ApprovedOptions, now: ApprovedOptions): string[] {
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
