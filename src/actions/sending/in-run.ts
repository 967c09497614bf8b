import { constants } from 'node:fs';
import { access, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError, hasCode, reasonOf, type ErrorCode } from '../../errors.ts';
import { isRecord } from '../../state/files.ts';
import { type AttachedFile, filesIn, HIGHEST_BYTES } from '../../protocol/attached.ts';
import { droppedName } from '../../state/drop-folder.ts';
import { RUN_HAS_ENDED } from '../../state/run-directory.ts';
import type { AgentMode } from '../agent-mode.ts';
import type { ChannelInput } from '../reading/channels.ts';
import type { MemoryInput } from '../memory/add.ts';
import type { MemoryChangeInput } from '../memory/change.ts';
import type { Attachment } from './attached.ts';
import { sendOp, type HandedInput, firstPath, type IdempotencyKey } from './handed.ts';
import type { LookUpInput } from './look-up.ts';
import type { Sent } from './input.ts';
import { readWhole } from '../../plain-file.ts';
import { sha256Of } from '../../state/side-files.ts';
import type { Context } from '../context.ts';
import {
  filesNearby,
  filesOfMessage,
  folderFor,
  putFile,
  type PutFile,
  type PutFiles,
} from '../reading/message-files.ts';
import { shownMessage } from '../reading/read.ts';
import type { Surroundings } from '../locate.ts';

/** The work that a run may request of the dispatcher, by name. */
export interface RunWork {
  send: HandedInput;
  /** A `send` with fields that a dispatcher of an older version does not know and therefore refuses. */
  send_talk: HandedInput;
  channel: ChannelInput;
  /** A `memory add` without fields that a dispatcher of an older version does not know. */
  memory: Omit<MemoryInput, 'supersedes'> & { supersedes?: string };
  /** Any other `memory add`; an older dispatcher refuses it. */
  memory_add: MemoryInput;
  memory_change: MemoryChangeInput;
  /** A command that reads files that a sandbox hides. */
  look: LookUpInput;
  /** A request to put the files of a message into the drop folder, from where a run in a sandbox takes them. */
  files: { message: string };
}

/** A request of a run, with everything that makes its outcome reproducible. */
export interface RunRequest<K extends keyof RunWork = keyof RunWork> extends IdempotencyKey {
  kind: K;
  input: RunWork[K];
}

/**
 * Returns the request to write a note, which a dispatcher of an older version must either understand or
 * refuse.
 */
export function memoryRequest(
  input: MemoryInput,
):
  | { kind: 'memory'; input: RunWork['memory'] }
  | { kind: 'memory_add'; input: RunWork['memory_add'] } {
  const { supersedes, ...rest } = input;
  const [first, ...more] = supersedes;
  if (more.length > 0 || input.name !== undefined || input.kind !== undefined)
    return { kind: 'memory_add', input };
  return { kind: 'memory', input: { ...rest, ...(first !== undefined && { supersedes: first }) } };
}

/** The answer of the dispatcher. */
export interface RunAnswer {
  result?: unknown;
  error?: { code: ErrorCode; message: string };
  /** Lines for the caller of the command. */
  notes: string[];
}

const SOCKET_LIMIT_MS = 30_000;
const DROP_LIMIT_MS = 20_000;
/** Milliseconds for reading, which is pointless once nobody waits for it. */
const LOOK_UP_LIMIT_MS = 90_000;
const LOOK_MS = 50;

/**
 * Delegates work to the dispatcher of the run: through the run's socket, which identifies the run, or, if
 * the CLI's sandbox does not allow sockets, as a file in the drop folder (trust.md §3). Neither uses git
 * or the network. Repeating the work has the same outcome.
 *
 * @returns undefined when there was no answer: the request is in the drop folder and will be carried out
 * @throws CrosstalkError the error of the work
 */
export async function askDispatcher(
  runDir: string,
  request: RunRequest,
  note: (line: string) => void,
): Promise<{ result: unknown } | undefined> {
  const limit = reads(request) ? LOOK_UP_LIMIT_MS : DROP_LIMIT_MS;
  const answer = (await askSocket(runDir, request)) ?? answerOf(await drop(runDir, request, limit));
  if (answer === undefined) return undefined;
  for (const line of answer.notes) note(line);
  if (answer.error !== undefined) throw new CrosstalkError(answer.error.code, answer.error.message);
  return { result: answer.result };
}

/**
 * Sends a message in a run.
 *
 * @returns undefined in a session as an actor, which sends like any command
 * @throws CrosstalkError `usage` when nothing identifies the run, `refused` when the run has ended
 */
export async function sendInRun(
  { runDir, actor, ended }: AgentMode,
  request: Omit<RunRequest<'send'>, 'kind'>,
  attachments: readonly Attachment[],
  note: (line: string) => void,
): Promise<Sent | undefined> {
  if (runDir === undefined) {
    if (actor !== undefined) return undefined;
    throw ended === true ? runHasEnded() : noRun();
  }
  const kind = sendOp(request.input);
  await dropFiles(runDir, request.id, attachments);
  const answered = await askDispatcher(runDir, { kind, ...request }, note);
  if (answered !== undefined) await removeFiles(runDir, request.id, attachments);
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

/** Builds the error of a command in a run that has ended. */
export function runHasEnded(): CrosstalkError {
  return new CrosstalkError('refused', RUN_HAS_ENDED);
}

/** Builds the error of a command in a run that cannot be identified. */
export function noRun(): CrosstalkError {
  return new CrosstalkError(
    'usage',
    'not for a run, whose directory is not known: CROSSTALK_RUN_DIR does not name it; leave that variable as it is',
  );
}

async function askSocket(runDir: string, request: RunRequest): Promise<RunAnswer | undefined> {
  const limit = reads(request) ? LOOK_UP_LIMIT_MS : SOCKET_LIMIT_MS;
  const asked = await ask(join(runDir, 's'), { op: 'send', request }, limit);
  return asked.kind === 'answered' ? answerOf(asked.answer.send) : undefined;
}

/**
 * Writes the bytes of files into the drop folder, from where the dispatcher takes them for both kinds of
 * requests: it never reads a path that a run names.
 */
async function dropFiles(
  runDir: string,
  id: string,
  attachments: readonly Attachment[],
): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  for (const { file, bytes } of attachments) {
    try {
      const path = droppedFile(runDir, id, file);
      const handle = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (hasCode(error, 'ENOENT')) throw runHasEnded();
      throw cannotReach(join(runDir, 'drop'), error);
    }
  }
}

async function removeFiles(
  runDir: string,
  id: string,
  attachments: readonly Attachment[],
): Promise<void> {
  for (const { file } of attachments)
    await rm(droppedFile(runDir, id, file), { force: true }).catch(() => undefined);
}

function droppedFile(runDir: string, id: string, { sha256 }: AttachedFile): string {
  return join(runDir, 'drop', droppedName(id, sha256));
}

function cannotReach(folder: string, error: unknown): CrosstalkError {
  return new CrosstalkError(
    'refused',
    `cannot reach the dispatcher, nor write to ${folder}: ${reasonOf(error)}; nothing was sent: let the CLI's sandbox write to CROSSTALK_RUN_DIR`,
    { cause: error },
  );
}

/**
 * Drops a request atomically: it is written to disk under another name and then renamed.
 *
 * @param limit milliseconds to wait for the answer
 * @param gone ends the wait
 * @returns the answer as it was found; undefined when there is none
 */
export async function drop(
  runDir: string,
  request: { id: string },
  limit: number,
  gone?: AbortSignal,
): Promise<unknown> {
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
    // The drop folder is the first thing removed at the end of a run.
    if (hasCode(error, 'ENOENT')) throw runHasEnded();
    throw cannotReach(folder, error);
  }
  const deadline = performance.now() + limit;
  while (performance.now() < deadline && gone?.aborted !== true) {
    const text = await readFile(join(folder, `${id}.answer.json`), 'utf8').catch(() => undefined);
    if (text !== undefined) return JSON.parse(text) as unknown;
    // The run has ended in the meantime, and at its end all earlier drops were taken.
    if (!(await isThere(folder))) return undefined;
    await sleep(LOOK_MS);
  }
  return undefined;
}

function reads({ kind }: RunRequest): boolean {
  return kind === 'look' || kind === 'files';
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

/** The dispatcher's answer about the files of a message that it has put into the drop folder of a run. */
interface Staged {
  relPath: string;
  files: readonly AttachedFile[];
  /** The reason why a file is missing, by its index in the list. */
  problems: Readonly<Record<string, string>>;
  /** As in {@link PutFiles}. */
  elsewhere: string[];
}

/**
 * Puts the files of a message, each verified, where a run in a sandbox can take them. The dispatcher
 * writes to no path that a run names.
 *
 * @param gone aborted once nobody waits for them
 * @throws CrosstalkError as `shownMessage` does
 */
export async function stagedFiles(
  context: Context,
  message: string,
  gone: AbortSignal,
  put: (sha256: string, bytes: Buffer) => Promise<void>,
): Promise<Staged> {
  const read = await shownMessage(context, message);
  const files = read.message.files ?? [];
  const problems: Record<string, string> = {};
  const laid = new Set<string>();
  for await (const taken of filesOfMessage(context, read)) {
    if (gone.aborted) break;
    const { sha256 } = taken.file;
    if (!taken.ok) problems[String(files.indexOf(taken.file))] = taken.problem;
    else if (!laid.has(sha256)) await put(sha256, taken.bytes);
    if (taken.ok) laid.add(sha256);
  }
  const elsewhere = files.length === 0 ? await filesNearby(context, read) : [];
  return { relPath: read.relPath, files, problems, elsewhere };
}

/**
 * Puts the files of a message into a folder, in a run in a sandbox: the dispatcher provides them, and
 * this process verifies and writes them.
 *
 * @param dir the folder, created if necessary
 * @throws CrosstalkError `usage` for a folder that cannot be created, `timed_out` when no dispatcher
 *   answers, and the dispatcher's error
 */
export async function takeStagedFiles(
  surroundings: Pick<Surroundings, 'agentMode' | 'cwd'> & { runDir: string },
  marks: IdempotencyKey,
  { message, dir }: { message: string; dir: string },
  note: (line: string) => void,
): Promise<PutFiles> {
  const { runDir } = surroundings;
  const asked = await askDispatcher(runDir, { kind: 'files', ...marks, input: { message } }, note);
  if (asked === undefined)
    throw new CrosstalkError('timed_out', 'the dispatcher has not answered; try again');
  const { relPath, files: said, problems, elsewhere } = asked.result as Staged;
  const files = filesIn(said) ?? [];
  if (files.length === 0) return { files: [], elsewhere };
  const dropped = (sha256: string): string => join(runDir, 'drop', droppedName(marks.id, sha256));
  try {
    const { folder, names } = await folderFor(surroundings, { relPath, files, dir });
    const put: PutFile[] = [];
    try {
      for (const [index, file] of files.entries()) {
        const problem = problems[String(index)];
        const bytes = problem === undefined ? await taken(dropped(file.sha256), file) : undefined;
        if (bytes === undefined)
          put.push({ file, problem: problem ?? 'was not handed over; try again' });
        else put.push(await putFile(folder, names[index] ?? '', file, bytes));
      }
    } finally {
      await folder.close();
    }
    return { files: put, elsewhere: [] };
  } finally {
    for (const { sha256 } of files) await rm(dropped(sha256), { force: true });
  }
}

async function taken(path: string, { sha256, bytes }: AttachedFile): Promise<Buffer | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    if (size !== bytes || size > HIGHEST_BYTES) return undefined;
    const whole = await readWhole(handle, size);
    return typeof whole !== 'string' && sha256Of(whole) === sha256 ? whole : undefined;
  } finally {
    await handle.close();
  }
}
