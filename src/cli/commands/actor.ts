import { CrosstalkError } from '../../errors.ts';
import { listActors, showActor } from '../../actions/setup/actors.ts';
import { sandboxSuggestion } from '../../actions/setup/workdir-option.ts';
import { shownServers } from '../../actions/setup/actor-servers.ts';
import { addActor, type AddedActor, namesOfHands } from '../../actions/setup/add-actor.ts';
import { changingHost } from '../../actions/setup/hosts.ts';
import type { ApprovedOptions } from '../../protocol/approval/record.ts';
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
import { HOST, SANDBOX, type CommandSpec } from '../command/spec.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { served, toolRows } from '../view/machine.ts';
import { colourless, table } from '../view/render.ts';
import { differences, tryInSandbox } from './set-actor.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'actor list',
    summary: 'the actors and the hosts that serve them',
    inRun: true,
    example: 'crosstalk actor list',
    paged: true,
    run: list,
  },
  {
    name: 'actor show',
    args: '<name>',
    summary: 'one actor with its system prompt',
    inRun: true,
    example: 'crosstalk actor show concierge',
    paged: true,
    run: show,
  },
  {
    name: 'actor add',
    args: '<name>',
    summary: 'let this machine serve an actor, and approve its command',
    options: [
      ['--cli <command>', 'claude, codex, gemini, opencode, qwen, pi, or a command line'],
      ['--tier <tier>', 'the tier this command is for (default: default)'],
      ['--workdir <dir>', 'where it works (default: an empty folder for each thread)'],
      ['--worktree <repository>', 'each thread gets a copy of this git repository to work in'],
      ...SANDBOX,
      ['--description <text>', 'what it is for, in a line of its profile'],
      ['--replace', 'replace what is there without asking'],
      [
        '--count <n>',
        'add so many actors with numbered names, as in worker-1, that no other host serves',
      ],
      HOST,
    ],
    example: 'crosstalk actor add reviewer --cli claude --description "Reviews diffs."',
    run: add,
  },
];

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
    // The approvals are known to the operator of the machine, and not to a run.
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
      // The operator may take their time to answer, so the file is read again afterwards.
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

/**
 * Shows the old and the new text, and asks if there is a terminal.
 *
 * @throws CrosstalkError `refused` if there is no terminal to ask on, and no `--replace`
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
