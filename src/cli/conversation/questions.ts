import { headlessCommand } from '../../agents/agents.ts';
import { withoutWebToken } from '../../credentials.ts';
import { reasonOf } from '../../errors.ts';
import {
  installing,
  lookAtAgents,
  type AgentState,
  findAgents,
  type AgentReport,
} from '../../actions/setup/agents.ts';
import { DEFAULTS, type Answers } from '../../actions/setup/input.ts';
import {
  fitsSandbox,
  chosenWorkdir,
  repositoryHere,
  type WorkdirInput,
} from '../../actions/setup/workdir-option.ts';
import { isShared, nameProblem, writerHere } from '../../actions/setup/writer.ts';
import { thisMachine, lasts } from '../../actions/service/machine.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { reasonInWords } from '../../protocol/text/words.ts';
import { text, type Call } from '../command/command.ts';
import type { Choice, Prompts } from './prompts.ts';

/** The milliseconds that an agent CLI may take for one word. */
const TRIAL_MS = 90_000;
/** Choices beside the agent CLIs; no program is called so. */
const TRY = '/try';
const OTHER = '/other';
/** Smallest rank of an agent that cannot answer yet, or may not. */
const NOT_READY = 3;

/**
 * Holds the first conversation: at most five questions, each with a default, of which those are left out that an
 * option has answered or that this machine cannot offer.
 *
 * @param dir the folder of the transport
 */
export async function converse(
  call: Call,
  prompts: Prompts,
  dir: string,
): Promise<Answers & { service?: boolean }> {
  const { io, options } = call;
  const actor = text(call, 'actor') ?? DEFAULTS.actor;
  const from = text(call, 'from') ?? (await askName(call, prompts, actor));
  const cli = text(call, 'cli') ?? (await askAgent(call, prompts, actor));
  const isPlaced = options['workdir'] !== undefined || options['worktree'] !== undefined;
  const place = isPlaced ? {} : await askPlace(call, prompts, { actor, dir });
  const asksSandbox =
    options['sandbox'] === undefined && (await fitsSandbox(io, headlessCommand(cli)));
  const sandbox =
    asksSandbox &&
    (await prompts.confirm(
      `Keep ${actor} in a sandbox? It then sees no keys, logins or other files of yours, and no network but its model`,
      'yes',
    ));
  const asksService = options['service'] === undefined && (await lasts(await thisMachine(io.env)));
  const service =
    asksService &&
    (await prompts.confirm(
      `Keep the dispatcher, which wakes ${actor}, running as a service? If not, you start it with: crosstalk dispatch`,
      'no',
    ));
  return {
    ...(from !== undefined && { from }),
    cli,
    ...place,
    ...(asksSandbox && { wantsSandbox: sandbox }),
    ...(asksService && { service }),
  };
}

/** @returns undefined where the surroundings say a name already */
async function askName(call: Call, prompts: Prompts, actor: string): Promise<string | undefined> {
  const { io } = call;
  const { said, proposal } = await writerHere(io, { actor, login: io.login });
  if (said !== undefined) return undefined;
  for (;;) {
    const name = await prompts.text('Your name in messages', proposal);
    const problem = nameProblem(name, actor);
    if (problem !== undefined) {
      prompts.say(problem);
      continue;
    }
    if (isShared(name))
      prompts.say(
        `everybody who goes by ${name} shares one mailbox; change yours with: git config crosstalk.from <your name>`,
      );
    return name;
  }
}

/** Asks for the CLI: the name of a known one, or a command line. */
async function askAgent({ io }: Call, prompts: Prompts, actor: string): Promise<string> {
  const states = await lookAtAgents(io.env);
  const installed = states.filter(({ isInstalled }) => isInstalled);
  if (installed.length === 0)
    prompts.say(
      'no agent CLI that is known was found on the PATH; choose one to install later, or give a command line',
    );
  let tried: readonly AgentReport[] = [];
  for (;;) {
    const rows = states.map((one) => {
      const { run } = tried.find(({ name }) => name === one.agent.name) ?? {};
      return rowOf(one, run ?? undefined);
    });
    rows.sort((a, b) => a.rank - b.rank);
    const trial = {
      value: TRY,
      label: 'Try those that are here first',
      hint: 'each is asked for one word, which costs a model call',
    };
    const other = { value: OTHER, label: 'Another command line' };
    const chosen = await prompts.choose(
      `Which agent CLI answers as ${actor}?`,
      [...rows, ...(installed.length > tried.length ? [trial] : []), other],
      rows[0]?.value ?? OTHER,
    );
    if (chosen === OTHER) return askCommand(prompts);
    if (chosen !== TRY) {
      const row = rows.find(({ value }) => value === chosen);
      if (row?.hint !== undefined && row.rank >= NOT_READY)
        prompts.say(`${row.label}; ${row.hint}`);
      return chosen;
    }
    io.interrupts?.('clean');
    tried = await findAgents({
      env: withoutWebToken(io.env),
      names: installed.map(({ agent }) => agent.name),
      run: TRIAL_MS,
      now: () => new Date(),
      signal: io.stop,
      trying: (name) => {
        prompts.say(
          `asking ${name} for one word, which may take up to ${String(TRIAL_MS / 1000)} s`,
        );
      },
    });
    io.interrupts?.('exit');
  }
}

async function askCommand(prompts: Prompts): Promise<string> {
  for (;;) {
    const command = await prompts.text('Its command line (prompt on stdin, answer on stdout)');
    if (command !== '') return command;
    prompts.say('a command line is missing, such as: my-agent --print');
  }
}

/** Returns a known agent CLI as a choice; the smaller the rank, the more it can do here. */
function rowOf(
  { agent, isInstalled, loggedInBy }: AgentState,
  run: NonNullable<AgentReport['run']> | undefined,
): Choice & { rank: number } {
  const row = (rank: number, state: string, hint?: string): Choice & { rank: number } => ({
    value: agent.name,
    label: `${agent.name}, ${state}`,
    rank,
    ...(hint !== undefined && { hint }),
  });
  const login = `log in with: ${agent.login}`;
  if (!isInstalled) return row(5, 'missing', `install it with: ${installing(agent)}`);
  if (run?.result === 'works') return row(0, 'works');
  if (run?.result === 'not_logged_in') return row(4, 'not logged in', login);
  if (run?.result === 'failed') return row(4, 'failed', escapeInvisible(run.said.slice(0, 200)));
  if (run !== undefined)
    return row(2, reasonInWords(run.result), run.until === null ? undefined : `until ${run.until}`);
  return loggedInBy === undefined ? row(3, 'no login found', login) : row(1, 'login found');
}

async function askPlace(
  { io }: Call,
  prompts: Prompts,
  { actor, dir }: { actor: string; dir: string },
): Promise<WorkdirInput> {
  const worktree = await repositoryHere(io, dir);
  const workdir = await chosenWorkdir(io, '.', dir).catch(() => undefined);
  const named = (path: string): string => {
    const home = `${io.env['HOME'] ?? ''}/`;
    return escapeInvisible(path.startsWith(home) ? `~/${path.slice(home.length)}` : path);
  };
  const chosen = await prompts.choose(
    `Where does ${actor} work?`,
    [
      ...(worktree === undefined
        ? []
        : [{ value: 'copy', label: `In copies of ${named(worktree)}`, hint: COPIES }]),
      { value: 'empty', label: 'In empty folders of its own', hint: 'one for each thread' },
      ...(workdir === undefined
        ? []
        : [{ value: 'here', label: `In this folder, ${named(workdir)}`, hint: 'all threads' }]),
      { value: 'other', label: 'In another folder or repository' },
    ],
    worktree === undefined ? 'empty' : 'copy',
  );
  if (chosen === 'copy' && worktree !== undefined) return { worktree };
  if (chosen === 'here' && workdir !== undefined) return { workdir };
  if (chosen === 'empty') return {};
  for (;;) {
    const path = await prompts.text('Which? A repository is copied for each thread');
    try {
      const folder = await chosenWorkdir(io, path, dir);
      const repository = await chosenWorkdir(io, path, dir, 'worktree').catch(() => undefined);
      return repository === undefined ? { workdir: folder } : { worktree: repository };
    } catch (error) {
      prompts.say(reasonOf(error).replace(/^--workdir: /, ''));
    }
  }
}

const COPIES = 'one for each thread, on a branch of its own';
