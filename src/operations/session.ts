import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runSession } from '../agent/session.ts';
import { profileOf } from '../dispatcher/run.ts';
import { CrosstalkError } from '../errors.ts';
import { agentOf, KNOWN_AGENTS, knownAgent } from '../protocol/agents.ts';
import { OPERATOR_FILE, PROTOCOL_FILE } from '../protocol/layout.ts';
import { isName } from '../protocol/names.ts';
import { shown } from '../protocol/result.ts';
import { tipOf, type Context } from './context.ts';
import { thisHost } from './hosts.ts';
import { firstOnPath } from './path.ts';
import { prepareBin } from './shim.ts';

/**
 * An interactive session as an actor: its CLI without the headless flags, given PROTOCOL.md and
 * the actor's profile.
 *
 * @returns the exit code of the CLI
 */
export async function openActor(
  context: Context,
  input: { actor: string; tier?: string; host?: string },
): Promise<number> {
  const { actor } = input;
  const host = await thisHost(context, input.host);
  const tiers = host.file.actors.get(actor);
  if (tiers === undefined) {
    const served = [...host.file.actors.keys()].join(', ');
    throw new CrosstalkError(
      'not_found',
      `the host ${host.file.alias} does not serve ${shown(actor)}, it serves ${served}; add it with: crosstalk actor add ${isName(actor) ? actor : '<name>'} --cli <command>`,
    );
  }
  const tier = input.tier === undefined ? tiers[0] : tiers.find(({ name }) => name === input.tier);
  if (tier === undefined) {
    throw new CrosstalkError(
      'not_found',
      `${actor} has no tier ${shown(input.tier)}, it has ${tiers.map(({ name }) => name).join(', ')}; choose one of them`,
    );
  }
  const tip = await tipOf(context);
  const protocol = (await context.archive.text(tip, PROTOCOL_FILE)) ?? '';
  const profile = await profileOf(context.archive, tip, actor);
  const text = `${protocol.trim()}\n\n# Your profile: ${actor}\n\n${profile?.body.trim() ?? ''}\n\nYou are "${actor}" in an interactive session that an operator opened.\n`;
  return start(context, `actor-${actor}`, interactive(tier.cli), text, { CROSSTALK_FROM: actor });
}

/**
 * The operator's own agent CLI in operator mode: `--agent`, else the first known one on the PATH.
 *
 * @returns the exit code of the CLI
 */
export async function attachOperator(context: Context, agent: string | undefined): Promise<number> {
  const found =
    agent ??
    (await firstOnPath(
      KNOWN_AGENTS.map(({ name }) => name),
      context.env['PATH'] ?? '',
    ));
  if (found === undefined) {
    throw new CrosstalkError(
      'not_found',
      `no known agent CLI on the PATH (${KNOWN_AGENTS.map(({ name }) => name).join(', ')}); name one with --agent <command>`,
    );
  }
  const text = (await context.archive.text(await tipOf(context), OPERATOR_FILE)) ?? '';
  return start(context, 'operator', interactive(found), text, {});
}

/** How a command is started on a terminal: `{text}` marks where a known CLI takes instructions. */
function interactive(command: string): readonly string[] {
  const known = knownAgent(command.trim()) ?? agentOf(command);
  return known?.interactive ?? ['/bin/sh', '-c', command];
}

/** Every CLI finds its instructions in a file as well, named by `CROSSTALK_INSTRUCTIONS`. */
async function start(
  context: Context,
  name: string,
  command: readonly string[],
  text: string,
  extra: Record<string, string>,
): Promise<number> {
  const { paths, env, transport } = context;
  await mkdir(paths.sessions, { recursive: true, mode: 0o700 });
  const file = join(paths.sessions, `${name}.md`);
  await writeFile(file, text, { mode: 0o600 });
  if (!command.includes('{text}'))
    context.note(
      `instructions for this session are in ${file}, also named by CROSSTALK_INSTRUCTIONS`,
    );
  await prepareBin(paths.bin);
  const ended = await runSession(
    command.map((part) => (part === '{text}' ? text : part)),
    {
      cwd: transport.dir,
      env: {
        ...env,
        ...extra,
        PATH: `${paths.bin}:${env['PATH'] ?? ''}`,
        CROSSTALK_TRANSPORT: transport.dir,
        CROSSTALK_STATE_DIR: paths.root,
        CROSSTALK_INSTRUCTIONS: file,
      },
    },
  );
  if ('exitCode' in ended) return ended.exitCode;
  throw new CrosstalkError(
    'not_found',
    `cannot start ${shown(command[0])}: ${ended.startError}; name another with --agent <command> or change the host file`,
  );
}
