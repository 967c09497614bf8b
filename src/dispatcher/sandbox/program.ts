import { access, constants } from 'node:fs/promises';
import { commandLine, programToFind } from '../../agents/command-line.ts';
import { CrosstalkError } from '../../errors.ts';
import { isWithin, placeOf, type View } from '../../runner/sandbox/mounts.ts';
import { follow, kindOf } from '../../runner/sandbox/system.ts';

/**
 * Makes sure that a sandbox shows the program of a command, with every symlink on the way to it. Otherwise a
 * shell in it would say no more than that there is none.
 *
 * @throws CrosstalkError `refused` with the path that has to be named
 */
export async function checkProgram(
  view: View,
  { command, env, cwd }: { command: string; env: NodeJS.ProcessEnv; cwd: string },
): Promise<void> {
  const program = programToFind(commandLine(command), env['HOME']);
  if (program === undefined) return;
  const folders = (env['PATH'] ?? '').split(':').filter((one) => one.startsWith('/'));
  const paths = program.includes('/')
    ? [program.startsWith('/') ? program : `${cwd}/${program}`]
    : folders.map((folder) => `${folder}/${program}`);
  const hidden: string[] = [];
  for (const path of paths) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const missing = await hiddenOnTheWay(path, view);
    if (missing === undefined) return;
    hidden.push(missing);
  }
  const [first] = hidden;
  if (first !== undefined)
    throw new CrosstalkError(
      'refused',
      `the sandbox does not show ${first}, which ${program} is or needs; name its folder in read: of the sandbox of the tier`,
      { data: { kind: 'not_shown' } },
    );
}

/** The first path on the way to a file that the view does not show. */
async function hiddenOnTheWay(path: string, view: View): Promise<string | undefined> {
  // In the place of these links the sandbox has what they lead to.
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
