import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { withoutDispatch } from '../agents/dispatch-variables.ts';
import { CrosstalkError } from '../errors.ts';
import { readAgentMode, type AgentMode } from '../operations/agent-mode.ts';
import { shown } from '../protocol/text/result.ts';
import type { Io } from './command/io.ts';
import type { Chosen } from './program.ts';
import { FROM, type CommandSpec } from './command/spec.ts';

/** The addition to the error for a command that is not meant for runs at all. */
const WHO_MAY =
  'which has the commands to send, to read and to look things up; an operator may, in a terminal of their own';

/**
 * Determines whether an agent's run gives the command, and sets the options that a run cannot
 * choose (trust.md §3).
 */
export async function inAgentMode(
  argv: readonly string[],
  io: Io,
): Promise<{ argv: readonly string[]; io: Io }> {
  const read = await readAgentMode(argv, io.env);
  if (read === undefined) return { argv, io };
  const { mode, words } = read;
  const env = mode.runDir === undefined ? withoutDispatch(io.env) : { ...io.env };
  if (mode.state !== undefined) env['CROSSTALK_STATE_DIR'] = mode.state;
  if (mode.transport !== undefined) env['CROSSTALK_TRANSPORT'] = mode.transport;
  if (mode.actor !== undefined) env['CROSSTALK_FROM'] = mode.actor;
  return { argv: words, io: { ...io, env, agentMode: mode } };
}

/**
 * Refuses a command that a run may not use, before its arguments are parsed.
 *
 * @param isInSandbox whether the run is in a sandbox of ours, where nothing of the transport can be read
 * @throws CrosstalkError `usage`
 */
export async function assertCommandInRun(
  argv: readonly string[],
  isInSandbox: boolean,
): Promise<void> {
  if (argv.some((word) => word === '--help' || word === '-h')) return;
  const { COMMANDS } = await import('./tables/table.ts');
  const [first = '', second = ''] = argv;
  const named = COMMANDS.find(({ name }) => name === `${first} ${second}`);
  const spec = named ?? COMMANDS.find(({ name }) => name === first);
  if (spec !== undefined && spec.inRun === undefined) throw notForRuns(spec.notInRun ?? WHO_MAY);
  // What a sandbox hides is needed to read the transport; the dispatcher itself carries out what is sent.
  const isThrough = [...THROUGH_DISPATCHER, ...ALSO_THROUGH_DISPATCHER].includes(spec?.name ?? '');
  if (spec !== undefined && isInSandbox && !isThrough)
    throw new CrosstalkError(
      'usage',
      `${spec.name} reads the transport, which the sandbox of this run hides; what there is to know is in the prompt, and ${THROUGH_DISPATCHER.join(', ')} work`,
    );
}

/** Commands that the dispatcher carries out for a run. */
const THROUGH_DISPATCHER = ['send', 'reply', 'channel create', 'memory add'];
/** Called by the agent CLI, and carried out by the dispatcher too. */
const ALSO_THROUGH_DISPATCHER = ['__permission'];

/** An option as it is typed; the parser knows it in camelCase. */
function dashed(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * Refuses a command, or an option of it, that a run may not use.
 *
 * @throws CrosstalkError `usage` for another command, another sender or another transport
 */
export async function assertInRun(
  mode: AgentMode,
  cwd: string,
  { spec, options }: Chosen,
): Promise<void> {
  if (spec.inRun === undefined) throw notForRuns(WHO_MAY);
  if (spec.inRun !== true) {
    for (const [option, why] of Object.entries(spec.inRun))
      if (options[option] !== undefined) throw notForRuns(`--${dashed(option)}: ${why}`);
  }
  const { from, transport } = options;
  if (typeof from === 'string' && writes(spec) && mode.actor !== undefined && from !== mode.actor)
    throw notForRuns(`--from ${shown(from)}: it writes as ${mode.actor}; leave --from out`);
  if (typeof transport !== 'string' || mode.transport === undefined) return;
  const [asked, fixed] = await Promise.all(
    [resolve(cwd, transport), mode.transport].map((dir) => realpath(dir).catch(() => dir)),
  );
  if (asked !== fixed)
    throw notForRuns(
      `--transport ${shown(transport)}: its transport is ${mode.transport}; leave --transport out`,
    );
}

/** Whether `--from` names the sender rather than filtering messages. */
function writes({ options }: CommandSpec): boolean {
  return options?.includes(FROM) === true;
}

function notForRuns(why: string): CrosstalkError {
  return new CrosstalkError('usage', `not for a run, ${why}`);
}
