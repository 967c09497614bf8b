import { constants, createReadStream, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { basename, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import type { AgentMode } from '../../actions/agent-mode.ts';
import { bytesInRun } from '../../actions/run-files.ts';
import { type Attachment, attachmentOf, bytesOnDisk } from '../../actions/sending/attached.ts';
import { HIGHEST_BYTES, MAX_FILES } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { flag, inTransport, isYes, list, note, text, type Call } from './command.ts';
import { readText, utf8 } from './stdin.ts';

/**
 * Returns the text for a command: its argument; stdin for `-`, or when there is no argument and stdin is not a
 * terminal; both, in this order, for an argument and `-`; or the file of `--file` (cli.md).
 *
 * @param what the name of the text for errors, such as `message`
 * @throws CrosstalkError `usage` when there is no text, when there are two, when it is not UTF-8, and when a file
 * cannot be read
 */
export async function readBody(call: Call, what: string): Promise<string> {
  const { io, args } = call;
  const [argument, more] = args;
  const file = text(call, 'file');
  if (more !== undefined && (more !== '-' || argument === '-'))
    throw new CrosstalkError(
      'usage',
      `too many arguments, the second is ${shown(more)}; put the ${what} in quotes, or end with - to add what is on stdin`,
    );
  if (file !== undefined && argument !== undefined) {
    throw new CrosstalkError('usage', 'both a text and --file were given; give one of them');
  }
  if (file !== undefined) {
    if (io.agentMode !== undefined && file !== '-') return readInRun(io.agentMode, io.cwd, file);
    return readFileOrStdin(call, file);
  }
  if (argument !== undefined && argument !== '-' && more === undefined) return argument;
  const piped = await io.readStdin();
  if (piped !== undefined)
    return argument === undefined || argument === '-' ? piped : `${argument}\n\n${piped}`;
  throw new CrosstalkError(
    'usage',
    argument === undefined
      ? `the ${what} has no text; give it as an argument, on stdin, or with --file <path>`
      : `stdin is a terminal, and - stands for what is piped into the command; give the ${what} as an argument, or with --file <path>`,
  );
}

/**
 * Checks whether stdin holds something that the command leaves there, as it takes stdin only on request: it may not
 * wait for it, because a shell of an agent has a stdin that never ends. The check costs no time, since the command
 * does its work meanwhile.
 *
 * @returns reports the finding, for when the message is sent; never rejects
 */
export function lookAtStdin(call: Call): () => Promise<void> {
  const { io, args } = call;
  const file = text(call, 'file');
  // A run is started with its prompt on stdin, and looks at nothing of its own.
  if (
    io.agentMode !== undefined ||
    io.inIsTty ||
    args.includes('-') ||
    file === '-' ||
    (args[0] === undefined && file === undefined)
  )
    return () => Promise.resolve();
  const looking = io.stdinHolds().catch(() => 'unknown' as const);
  return async () => {
    const held = await looking;
    if (held === 'nothing') return;
    const form = file === undefined ? 'end the command with -' : 'give it without --file';
    const what = held === 'something' ? 'what is' : 'whatever may be';
    note(call, `${what} on stdin was left out; to send it, ${form}`);
  };
}

/** Returns the text of a file that a run sends; see `bytesInRun`. @throws CrosstalkError `usage` for any other file */
async function readInRun(
  mode: AgentMode,
  cwd: string,
  file: string,
  option: '--file' | '--schema' = '--file',
): Promise<string> {
  // The parser of headers is loaded here, as few commands need it.
  const { MAX_MESSAGE_BYTES } = await import('../../protocol/message.ts');
  const bytes = await bytesInRun(mode, cwd, file, { option, limit: MAX_MESSAGE_BYTES });
  return utf8(bytes, `${option} ${shown(file)}`);
}

/** Returns the text of a file, or of stdin for `-`. @throws CrosstalkError `usage` where there is none */
export async function readFileOrStdin({ io }: Call, file: string): Promise<string> {
  if (file !== '-') return readTextFile(resolve(io.cwd, file), `--file ${file}`, 'name another');
  const piped = await io.readStdin();
  if (piped !== undefined) return piped;
  throw new CrosstalkError('usage', 'stdin is a terminal, and - stands for what is piped in');
}

/**
 * @param where names the file in the error
 * @param next the remedy, or the meaning of that
 * @throws CrosstalkError `usage` for a file that cannot be read, or is not text
 */
export async function readTextFile(path: string, where: string, next: string): Promise<string> {
  try {
    return await readText(await streamOf(path), where);
  } catch (error) {
    if (error instanceof CrosstalkError) throw error;
    throw new CrosstalkError('usage', `${where} cannot be read: ${reasonOf(error)}; ${next}`, {
      cause: error,
    });
  }
}

/**
 * Opens a file to read from. Waiting for the writer of a named pipe in `open` would outlive every signal, so that one
 * is opened at once, and a socket does the waiting.
 */
async function streamOf(path: string): Promise<Readable> {
  if (!(await stat(path)).isFIFO()) return createReadStream(path);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

/**
 * Returns the input's part for `--schema`: the text of its file, which is examined when the message is written.
 *
 * @throws CrosstalkError `usage` for a file that cannot be read, or that a run may not send
 */
export async function readSchema(call: Call): Promise<{ schema?: string }> {
  const { agentMode, cwd } = call.io;
  const file = text(call, 'schema');
  if (file === undefined) return {};
  if (agentMode === undefined)
    return { schema: await readTextFile(resolve(cwd, file), `--schema ${file}`, 'name another') };
  return { schema: await readInRun(agentMode, cwd, file, '--schema') };
}

/**
 * Returns the files of `--attach`; a command without them loads nothing for that.
 *
 * @throws CrosstalkError `usage` for a path that is not a regular file, or too many bytes
 */
export async function readAttachments(call: Call): Promise<Attachment[]> {
  const given = list(call, 'attach');
  if (given.length === 0) return [];
  return readFiles(call, given);
}

/**
 * Reads the files that `--attach` names, with their bytes as they are now. A symlink is followed to a regular file,
 * which keeps the given name; a run may attach only files that it could read itself (trust.md §3). The limits of a
 * clone are applied later, when the message is written.
 *
 * @throws CrosstalkError `usage` for a path that is not a regular file, or too many bytes
 */
async function readFiles(call: Call, given: readonly string[]): Promise<Attachment[]> {
  if (given.length > MAX_FILES)
    throw new CrosstalkError(
      'usage',
      `--attach was given ${String(given.length)} times, and a message takes ${String(MAX_FILES)} files; pack them into one archive, or send several messages`,
    );
  const found: Attachment[] = [];
  let left = HIGHEST_BYTES;
  for (const file of given) {
    const bytes = await contentOf(call, file, left);
    left -= bytes.length;
    found.push(attachmentOf(basename(file), bytes));
  }
  return found;
}

function contentOf({ io }: Call, file: string, limit: number): Promise<Buffer> {
  const { agentMode: mode, cwd } = io;
  return mode === undefined
    ? bytesOnDisk(cwd, file, { asked: '--attach', limit })
    : bytesInRun(mode, cwd, file, { option: '--attach', limit });
}

/**
 * Asks on a terminal whether a text that begins like a call of a skill, but with a name that no skill has, is meant
 * as it is.
 *
 * @throws CrosstalkError `refused` when it is not
 */
export async function assertText(call: Call, body: string): Promise<void> {
  const { ask, agentMode } = call.io;
  const name = skillAskedFor(body);
  if (name === undefined || ask === undefined || agentMode !== undefined || flag(call, 'anyway'))
    return;
  const hint = await inTransport(call, async (context) => {
    const { listSkills, namesOfSkills } = await import('../../actions/skills/list.ts');
    const { didYouMean } = await import('../../protocol/text/nearest.ts');
    if ((await namesOfSkills(context)).includes(name)) return undefined;
    const names = (await listSkills(context)).map((skill) => skill.name);
    return names.includes(name) ? undefined : didYouMean(name, names);
  });
  if (hint === undefined) return;
  const question = `there is no skill ${name}${hint === '' ? '.' : hint} Send it as plain text? [y/N] `;
  if (isYes(await ask(question))) return;
  throw new CrosstalkError(
    'refused',
    'nothing was sent; see the skills with: crosstalk skill list',
  );
}
