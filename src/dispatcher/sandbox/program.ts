import { access, constants, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { commandLine, programToFind } from '../../agents/command-line.ts';
import { CrosstalkError } from '../../errors.ts';
import { isWithin, placeOf, type View } from '../../runner/sandbox/mounts.ts';
import { follow, kindOf, real, systemPlaces } from '../../runner/sandbox/system.ts';
import { toolsOf } from './places.ts';

/** Command with the variables that its shell knows. */
interface Called {
  command: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
}

/**
 * Makes sure that a sandbox shows the program of a command, with every symlink on the way to it. Otherwise a
 * shell in it would say no more than that there is none.
 *
 * @throws CrosstalkError `refused` with the path that has to be named
 */
export async function checkProgram(view: View, called: Called): Promise<void> {
  const hidden = await hiddenIn(view, called);
  if (hidden !== undefined)
    throw new CrosstalkError(
      'refused',
      `the sandbox does not show ${hidden}, which its command is or needs; name its folder in read: of the sandbox of the tier`,
      { data: { kind: 'not_shown' } },
    );
}

/**
 * Returns the path that a sandbox hides of a program that something in it could not find, as a line for the reader of
 * the failure; undefined if it hides none.
 *
 * @param said the output: its last line names the program, in the words of a shell, of env or of a loader
 */
export async function notShown(
  view: View,
  said: string,
  called: Called,
): Promise<string | undefined> {
  const last = said.trim().split('\n').at(-1)?.slice(0, MOST_SAID) ?? '';
  const words = last.split(/[^\w.+/-]+/).filter((word) => /[a-z]/i.test(word));
  // The output of a run is not a way to ask which files exist: a path counts only if the command has it.
  const named = words
    .filter((word) => !word.includes('/') || called.command.includes(word))
    .slice(0, MOST_WORDS);
  // For a script whose interpreter is hidden, a shell reports that the script is not found.
  for (const word of named.filter((one) => one.startsWith('/')))
    named.push(...(await interpreterOf(word)));
  for (const command of new Set(named)) {
    const hidden = await hiddenIn(view, { ...called, command });
    if (hidden !== undefined)
      return `the sandbox hides ${hidden}; name its folder in read: of the sandbox of the tier`;
  }
  return undefined;
}

/** Returns the program that the first line of a script names; nothing if it is not a script. */
async function interpreterOf(path: string): Promise<string[]> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  if (file === undefined) return [];
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_SAID), 0, MOST_SAID, 0);
    const [line = ''] = buffer.toString('utf8', 0, bytesRead).split('\n', 1);
    return line.startsWith('#!') ? line.slice(2).trim().split(/\s+/).slice(0, 2) : [];
  } catch {
    return [];
  } finally {
    await file.close();
  }
}

/** Most characters of a line in which its program is searched: it is named near the beginning. */
const MOST_SAID = 500;
const MOST_WORDS = 20;

/**
 * Returns the path that a sandbox has to show before the program of a command is found in it; undefined if there is
 * none.
 */
export async function hiddenProgram(called: Called): Promise<string | undefined> {
  const home = await real(called.env['HOME'] ?? '/');
  const system = await systemPlaces();
  const node = dirname(await real(process.execPath));
  const show = [
    ...system.show,
    ...(await toolsOf(home, called.env, [])),
    { path: node, from: node },
  ];
  return hiddenIn({ ...system, show, write: [], own: [], cover: [], fixed: [] }, called);
}

async function hiddenIn(view: View, { command, env, cwd }: Called): Promise<string | undefined> {
  const program = programToFind(commandLine(command), env['HOME']);
  if (program === undefined) return undefined;
  const folders = (env['PATH'] ?? '').split(':').filter((one) => one.startsWith('/'));
  const paths = program.includes('/')
    ? [program.startsWith('/') ? program : `${cwd}/${program}`]
    : folders.map((folder) => `${folder}/${program}`);
  let first: string | undefined;
  for (const path of paths) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const missing = await hiddenOnTheWay(path, view);
    if (missing === undefined) return undefined;
    first ??= missing;
  }
  return first;
}

/** Returns the first path on the way to a file that the view does not show. */
async function hiddenOnTheWay(path: string, view: View): Promise<string | undefined> {
  // In place of these links the sandbox has their targets.
  const replaced = [...view.links, ...view.show].map((one) => one.path);
  const passed: string[] = [];
  const end = await follow(path, (link) => {
    if (!replaced.includes(link)) passed.push(link);
    return true;
  });
  if (end !== undefined && 'at' in end) passed.push(end.at);
  for (const one of passed) {
    const place = placeOf(one, view);
    const isThere = place !== undefined && (await kindOf(place)) !== 'none';
    if (!isThere && !view.show.some(({ from }) => isWithin(one, from))) return one;
  }
  return undefined;
}
