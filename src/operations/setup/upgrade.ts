import { CrosstalkError } from '../../errors.ts';
import { UPSTREAM } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliver } from '../deliver.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { templateFiles } from './starter-files.ts';

export interface Upgrade {
  up_to_date: boolean;
  /** Files of `upstream/` that differ from this version's template. */
  changed: string[];
  added: string[];
  removed: string[];
  published: boolean;
}

/** Replaces `upstream/` with this version's template; `check` only reports the changes. */
export async function upgrade(
  context: Context,
  input: { check: boolean; login: string },
): Promise<Upgrade> {
  await refreshOrNote(context);
  const tip = await tipOf(context);
  const files = await templateFiles(UPSTREAM);
  const existing: string[] = [];
  for await (const files of context.transport.walk(tip, UPSTREAM))
    for (const { path } of files) existing.push(path);
  const wanted = new Set(files.map(({ path }) => path));
  const plan: Upgrade = {
    up_to_date: false,
    changed: [],
    added: [],
    removed: existing.filter((path) => !wanted.has(path)),
    published: false,
  };
  for (const { path, content } of files) {
    const present = await context.reader.text(tip, path);
    if (present === undefined) plan.added.push(path);
    else if (present !== content) plan.changed.push(path);
  }
  plan.up_to_date = plan.changed.length + plan.added.length + plan.removed.length === 0;
  if (plan.up_to_date || input.check) return plan;
  const from = resolveFrom(context, undefined, input.login);
  const delivered = await deliver(
    context,
    [
      {
        at: context.now().toISOString(),
        author: authorOf(from, context.hostname),
        subject: 'crosstalk: upgrade upstream/',
        files,
        clear: UPSTREAM,
      },
    ],
    { wait: true },
  );
  if (!delivered.published) {
    throw new CrosstalkError(
      'git_failed',
      `the upgrade is queued and not on the remote yet: ${delivered.reason}; push it with: crosstalk sync`,
    );
  }
  await context.checkout.follow();
  return { ...plan, published: true };
}
