import { formatChannel } from '../../protocol/files/channel.ts';
import { formatDocument } from '../../protocol/text/frontmatter.ts';
import { channelFile, IDENTITY_FILE, profileFiles, UPSTREAM } from '../../protocol/layout.ts';
import { placeOfRemote } from '../../transport/clone/bus-identity.ts';
import type { Clock } from '../../clock.ts';
import { profileText } from './actors.ts';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { packageRoot } from '../../package.ts';
import type { ApprovedOptions } from '../../protocol/approval/record.ts';
import { USUAL_SANDBOX } from '../../protocol/files/tier-sandbox.ts';
import { CrosstalkError } from '../../errors.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliver } from '../deliver.ts';
import { resolveFrom } from '../lookup/resolve.ts';

/** The options of a tier in a host file: its command, and its working directory if that is not a workspace. */
export interface TierSlot {
  cli: string;
  workdir?: string;
  /** The repository that each thread gets a copy of. */
  worktree?: string;
  sandbox?: 'default';
  /** The senders that it serves, in the form of host files; everybody by default. */
  onlyFrom?: readonly string[];
}

/** Picks the slot from an input that may contain more. */
export function slotIn({ cli, workdir, worktree, sandbox, onlyFrom }: TierSlot): TierSlot {
  return {
    cli,
    ...(workdir !== undefined && { workdir }),
    ...(worktree !== undefined && { worktree }),
    ...(sandbox !== undefined && { sandbox }),
    ...(onlyFrom !== undefined && { onlyFrom }),
  };
}

/** Returns the form of a slot in a file: a command alone is a plain string. */
function slotOf(slot: TierSlot): string | Record<string, string> {
  const { cli, onlyFrom, ...place } = slotIn(slot);
  const options = { ...place, ...(onlyFrom !== undefined && { only_from: onlyFrom.join(', ') }) };
  return Object.keys(options).length === 0 ? cli : { cli, ...options };
}

/** Returns the form of a slot in the approvals. */
export function approvedSlot({ sandbox, onlyFrom, ...slot }: TierSlot): ApprovedOptions {
  return {
    ...slot,
    ...(sandbox !== undefined && { sandbox: { ...USUAL_SANDBOX } }),
    ...(onlyFrom !== undefined && { only_from: [...onlyFrom] }),
  };
}

/** Returns the profile of an actor that the template does not contain. */
export function newActor(actor: string, existing: readonly { path: string }[]): TemplateFile[] {
  const [local, upstream] = profileFiles(actor);
  const known = existing.some(({ path }) => path === local || path === upstream);
  return known ? [] : [{ path: local, content: profileText(actor) }];
}

/** Returns the file with the identity of a new transport, and the place where it was created. */
export function newIdentity(
  remote: string | undefined,
  dir: string,
  { newId }: Pick<Clock, 'newId'>,
): TemplateFile {
  return { path: IDENTITY_FILE, content: `${newId()} ${placeOfRemote(remote, dir)}\n` };
}

/** Returns the `CHANNEL.md` of a new channel with a random id. */
export function newChannel(
  name: string,
  createdBy: string,
  { now, uuid }: Pick<Clock, 'now' | 'uuid'>,
): TemplateFile {
  const id = uuid();
  return {
    path: channelFile(id),
    content: formatChannel({ id, name, createdBy, createdAt: now().toISOString(), body: '' }),
  };
}

/**
 * Returns the text of a host file that serves one actor. `machine` is left out when another host file
 * claims it.
 */
export function hostText(
  alias: string,
  machine: string | undefined,
  actor: string,
  slot: TierSlot,
): string {
  const fields = {
    alias,
    ...(machine === undefined ? {} : { hostname: machine }),
    actors: { [actor]: { default: slotOf(slot) } },
  };
  return formatDocument(fields, `The machine ${alias}.\n`);
}

export interface TemplateFile {
  /** Path inside the transport. */
  path: string;
  content: string;
}

/** npm leaves `.gitignore` files out of packages, so the template's has another name. */
const RENAMED: Record<string, string> = { gitignore: '.gitignore' };

/** Reads the files of a new transport, or those below one of its folders. */
export async function templateFiles(folder = ''): Promise<TemplateFile[]> {
  const root = join(packageRoot(), 'template');
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.sort().map(async (file) => {
      const path = relative(root, file).split(sep).join('/');
      return { path: RENAMED[path] ?? path, content: await readFile(file, 'utf8') };
    }),
  );
}

interface Upgrade {
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
