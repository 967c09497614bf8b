import { realpath } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Checkout } from '../../bus/checkout.ts';
import { hostFile, toName } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { defaultBranch, makeRepository, type InProject } from '../../transport/clone/setup.ts';
import type { Failure } from '../../transport/transport.ts';
import { approveWritten } from './approvals.ts';
import { openTransport, withContext, type Context, assertNoSecret } from '../context.ts';
import { refusesPush } from '../../transport/git/failure.ts';
import { DEFAULTS, pushLater, type InitInput, type Initialised } from './input.ts';
import type { Surroundings } from '../locate.ts';
import {
  hostText,
  newActor,
  newChannel,
  newIdentity,
  slotIn,
  type TierSlot,
  templateFiles,
} from './starter-files.ts';
import { clockOf } from '../clock.ts';

/**
 * Creates a new transport in an existing folder, and pushes it if it has a remote.
 *
 * @param how `isThere`: the folder is a clone of the empty remote; `project`: its bus is at the remote of
 *   a project, as this branch or ref
 */
export async function create(
  surroundings: Surroundings,
  input: InitInput & TierSlot & { actor: string },
  dir: string,
  remote: { url: string; branch: string | undefined; isSha256: boolean } | undefined,
  how: {
    project?: InProject;
    branch?: string;
    isThere?: boolean;
    push?: (context: Context) => Promise<boolean>;
  } = {},
): Promise<Initialised> {
  const alias = input.alias ?? toName(hostname()) ?? 'host';
  const channel = input.channel ?? DEFAULTS.channel;
  const from = input.from ?? toName(input.login) ?? 'operator';
  const files = await templateFiles();
  files.push(...newActor(input.actor, files));
  files.push({
    path: hostFile(alias),
    content: hostText(alias, hostname(), input.actor, slotIn(input)),
  });
  const chance = clockOf(surroundings);
  files.push(newIdentity(remote?.url, dir, chance), newChannel(channel, from, chance));
  await assertNoSecret(files);
  const branch = how.branch ?? remote?.branch ?? (await defaultBranch(surroundings.env));
  const { project, isThere = false } = how;
  await makeRepository(
    dir,
    surroundings.env,
    { branch, from: input.from, project, ...(remote && { remote }) },
    { isThere },
  );
  const { transport } = await openTransport(dir, surroundings.env, { isMade: true });
  try {
    const author = authorOf(from, alias);
    const at = chance.now().toISOString();
    await transport.begin({ at, author, subject: 'crosstalk: a new transport', files });
  } finally {
    transport.close();
  }
  const result = {
    dir: await realpath(dir),
    alias,
    actor: input.actor,
    ...(input.from !== undefined && { from: input.from }),
    ...slotIn(input),
    channel,
    joined: false,
  };
  return {
    ...result,
    ...(await withContext(surroundings, { transport: dir, note: input.note }, async (context) => {
      await context.transport.identity();
      await approveWritten(context, alias, input.actor, 'default', slotIn(input), {
        joins: true,
      });
      if (remote === undefined) return { pushed: false };
      return how.push === undefined ? push(context) : { pushed: await how.push(context) };
    })),
  };
}

/** Fetches the bus into a new clone; returns the failure, if any. */
export async function bringInto(
  dir: string,
  surroundings: Surroundings,
): Promise<Failure | undefined> {
  const { transport } = await openTransport(dir, surroundings.env, { isMade: true });
  const { now } = clockOf(surroundings);
  try {
    const failure = await transport.bring();
    // One fetch gets all files; reading them one by one would take a connection each.
    if (failure === undefined) await new Checkout(transport, now).follow();
    return failure;
  } finally {
    transport.close();
  }
}

/** Makes the first push; after a failure the local transport works and is pushed later. */
async function push({
  transport,
  note,
}: Context): Promise<Pick<Initialised, 'pushed' | 'refused'>> {
  const pushed = await transport.refresh();
  if (pushed.ok) return { pushed: true };
  const isRefused = refusesPush(pushed.failure.kind);
  const why = `${pushed.failure.reason}; ${pushLater({ isRefused })}`;
  note(`the transport is made, but not pushed: ${why}`);
  return { pushed: false, ...(isRefused && { refused: true as const }) };
}
