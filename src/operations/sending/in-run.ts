import { constants } from 'node:fs';
import { access, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError, hasCode, reasonOf, type ErrorCode } from '../../errors.ts';
import { isRecord } from '../../state/files.ts';
import { RUN_HAS_ENDED } from '../../state/run-directory.ts';
import type { AgentMode } from '../agent-mode.ts';
import type { ChannelInput } from '../reading/channels.ts';
import type { MemoryInput } from '../memory/add.ts';
import type { HandedInput } from './handed.ts';
import type { Sent } from './input.ts';
import { firstPath, type Marks } from './marks.ts';

/** What a run may ask of the dispatcher, by the name of the work. */
export interface RunWork {
  send: HandedInput;
  channel: ChannelInput;
  memory: MemoryInput;
}

/** A request as a run makes it, with all that makes its outcome the same twice. */
export interface RunRequest<K extends keyof RunWork = keyof RunWork> extends Marks {
  kind: K;
  input: RunWork[K];
}

/** What the dispatcher says to it. */
export interface RunAnswer {
  result?: unknown;
  error?: { code: ErrorCode; message: string };
  /** Lines for whoever gave the command. */
  notes: string[];
}

const SOCKET_LIMIT_MS = 30_000;
const DROP_LIMIT_MS = 20_000;
const LOOK_MS = 50;

/**
 * Hands work to the dispatcher of the run: through the run's socket, which knows the run, and where the
 * CLI's sandbox lets nobody use sockets, as a file in the drop folder (trust.md §3). Neither touches git
 * or the network. Done twice it has the same outcome.
 *
 * @returns undefined when nobody has answered: it lies in the drop folder and will be done
 * @throws CrosstalkError what the work threw
 */
export async function askDispatcher(
  runDir: string,
  request: RunRequest,
  note: (line: string) => void,
): Promise<{ result: unknown } | undefined> {
  const answer = (await askSocket(runDir, request)) ?? (await drop(runDir, request));
  if (answer === undefined) return undefined;
  for (const line of answer.notes) note(line);
  if (answer.error !== undefined) throw new CrosstalkError(answer.error.code, answer.error.message);
  return { result: answer.result };
}

/**
 * Sends in a run.
 *
 * @returns undefined in a session as an actor, which sends as any command does
 * @throws CrosstalkError `usage` where nothing says which run it is, `refused` where that run has ended
 */
export async function sendInRun(
  { runDir, actor, ended }: AgentMode,
  request: Omit<RunRequest<'send'>, 'kind'>,
  note: (line: string) => void,
): Promise<Sent | undefined> {
  if (runDir === undefined) {
    if (actor !== undefined) return undefined;
    throw noRun(ended);
  }
  const answered = await askDispatcher(runDir, { kind: 'send', ...request }, note);
  if (answered !== undefined) return answered.result as Sent;
  const { input } = request;
  return {
    channel: input.channel ?? '',
    from: actor ?? '',
    messages: [{ relPath: firstPath(request), to: [input.to], re: [], cause: [] }],
    delivered: {
      published: false,
      reason: 'the dispatcher has not answered; it takes it over later',
    },
  };
}

/** A command was given in a run that says nothing of itself, or in one that has `ended`. */
export function noRun(ended = false): CrosstalkError {
  if (ended) return new CrosstalkError('refused', RUN_HAS_ENDED);
  return new CrosstalkError(
    'usage',
    'not for a run, whose directory is not known: CROSSTALK_RUN_DIR does not name it; leave that variable as it is',
  );
}

async function askSocket(runDir: string, request: RunRequest): Promise<RunAnswer | undefined> {
  const asked = await ask(join(runDir, 's'), { op: 'send', request }, SOCKET_LIMIT_MS);
  return asked.kind === 'answered' ? answerOf(asked.answer.send) : undefined;
}

/** Drops it whole: under another name first, on disk, then renamed. */
async function drop(runDir: string, request: RunRequest): Promise<RunAnswer | undefined> {
  const folder = join(runDir, 'drop');
  const { id } = request;
  try {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const temporary = join(folder, `.${id}.tmp`);
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      await file.writeFile(JSON.stringify(request));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, `${id}.json`));
  } catch (error) {
    // Its drop folder is the first thing that goes.
    if (hasCode(error, 'ENOENT')) throw noRun(true);
    throw new CrosstalkError(
      'refused',
      `cannot reach the dispatcher, nor write to ${folder}: ${reasonOf(error)}; nothing was sent: let the CLI's sandbox write to CROSSTALK_RUN_DIR`,
      { cause: error },
    );
  }
  const deadline = performance.now() + DROP_LIMIT_MS;
  while (performance.now() < deadline) {
    const text = await readFile(join(folder, `${id}.answer.json`), 'utf8').catch(() => undefined);
    if (text !== undefined) return answerOf(JSON.parse(text));
    // The run has ended meanwhile, which takes over what was dropped before.
    if (!(await isThere(folder))) return undefined;
    await sleep(LOOK_MS);
  }
  return undefined;
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function answerOf(value: unknown): RunAnswer | undefined {
  return isRecord(value) && Array.isArray(value['notes'])
    ? (value as unknown as RunAnswer)
    : undefined;
}
