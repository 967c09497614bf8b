import { sizeInWords } from '../../protocol/attached.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Transport } from '../../transport/transport.ts';
import { tipOf, type Context } from '../context.ts';
import { redact } from '../../transport/git/failure.ts';
import { BRANCH_OF_PROJECT } from '../../transport/clone/handle.ts';
import { asWarning, type Check } from './check.ts';

/** Reports the size of the attached files: every clone has them all, unless it is a partial one. */
export async function attachedFiles(context: Context): Promise<Check> {
  const { files, bytes } = await context.transport.weighFiles(await tipOf(context));
  const weight =
    bytes === undefined
      ? 'which this partial clone fetches when they are read'
      : sizeInWords(bytes);
  const found = files === 0 ? 'none' : `${String(files)}, ${weight}`;
  return { check: 'attached files', ok: true, found, fix: '' };
}

/** The most paths that are named. */
const MOST_NAMED = 3;

/** Reports the paths on the bus that no checkout holds because git refuses them: who added them, and how they go. */
export async function refusedPaths({ transport }: Context): Promise<Check[]> {
  const paths = await transport.refusedPaths(MOST_NAMED);
  if (paths.length === 0) return [];
  const named = await Promise.all(
    paths.map(async (path) => `${shown(path)} (${await whoAdded(transport, path)})`),
  );
  const found = `git refuses these paths of the bus, and the checkout leaves them out: ${named.join(', ')}`;
  const { dir, origin, remoteRef } = transport;
  const push = origin === undefined ? '' : ` && git -C ${dir} push origin HEAD:${remoteRef}`;
  const fix = `nothing else is affected; remove them for all with: git -C ${dir} commit -m "Remove what git refuses"${push}`;
  return [asWarning({ check: 'checkout', ok: false, found, fix })];
}

/** Returns the commit that added a path, with its author as whoever pushed it gave it. */
async function whoAdded(transport: Transport, path: string): Promise<string> {
  const tip = await transport.tip();
  if (tip === undefined) return '';
  const isThere = async (commit: string): Promise<boolean> =>
    (await transport.objects.read(`${commit}:${path}`)) !== undefined;
  try {
    const before = await transport.before(tip, isThere);
    const range = before === undefined ? tip : `${before}..${tip}`;
    const log = ['log', '--first-parent', '--format=%h by %an <%ae>', range, '--'];
    return escapeInvisible((await transport.git(log)).split('\n').at(-1) ?? '');
  } catch {
    return 'the history does not say by whom';
  }
}

const DAY_SECONDS = 86_400;

/** Reports how much of the limits that its remote sets for a project the bus in it uses; nothing for another bus. */
export async function sharedLimits({ transport, now }: Context): Promise<Check[]> {
  const { origin, remoteRef, branch, limits } = transport;
  const isInProject = remoteRef !== `refs/heads/${branch}` || branch === BRANCH_OF_PROJECT;
  if (origin === undefined || !isInProject) return [];
  const since = now().getTime() / 1000 - DAY_SECONDS;
  const { moves } = await transport.movesSince();
  const pushes = moves.filter(({ why, at }) => why === 'pushed' && at > since).length;
  const counted = await transport.git(['count-objects', '-v']);
  const sizes = counted.matchAll(/^size(?:-pack)?: (\d+)$/gm);
  const bytes = Array.from(sizes, ([, kib]) => Number(kib) * 1024).reduce((sum, one) => sum + one);
  const most =
    limits?.pushesPerMinute === undefined
      ? ''
      : `, at most ${String(limits.pushesPerMinute)} a minute`;
  const found = `of what ${redact(origin)} allows the project, the bus takes one ref and about ${sizeInWords(bytes)}; this machine has pushed ${String(pushes)} times in 24 hours${most}`;
  return [{ check: 'shared with the project', ok: true, found, fix: '' }];
}
