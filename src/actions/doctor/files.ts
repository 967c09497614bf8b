import { sizeInWords } from '../../protocol/attached.ts';
import { tipOf, type Context } from '../context.ts';
import { redact } from '../../transport/git/failure.ts';
import { BRANCH_OF_PROJECT } from '../../transport/clone/handle.ts';
import type { Check } from './check.ts';

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
