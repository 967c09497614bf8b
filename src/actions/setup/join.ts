import { hostname } from 'node:os';
import { readHosts } from '../../bus/host.ts';
import { CrosstalkError } from '../../errors.ts';
import { hostFile, toName } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { assertNoActor, assertNoPerson } from './actors.ts';
import { approveWritten } from './approvals.ts';
import { tipOf, withContext, type Context } from '../context.ts';
import { deliver } from '../deliver.ts';
import { noteShared } from './add-actor.ts';
import { DEFAULTS, pushLater, type Initialised, type InitInput } from './input.ts';
import type { Surroundings } from '../locate.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import {
  hostText,
  newActor,
  newChannel,
  slotIn,
  type TierSlot,
  type TemplateFile,
} from './starter-files.ts';

/** Adds this machine to a transport that was just cloned: its host file, and a channel on request. */
export async function join(
  surroundings: Surroundings,
  input: InitInput & TierSlot & { actor: string; dir: string },
): Promise<Initialised> {
  return withContext(surroundings, { transport: input.dir, note: input.note }, async (context) => {
    // This comes before anybody pushes another identity, as signatures made here include it.
    await context.transport.identity();
    const writer = resolveFrom(context, input.from, input.login);
    await assertNoPerson(context, { name: input.actor, writer });
    await assertNoActor(context, writer);
    const { alias, machine } = await identity(context, input.alias);
    await approveWritten(context, alias, input.actor, 'default', slotIn(input), { joins: true });
    const { files, channel } = await additions(context, input);
    files.push({
      path: hostFile(alias),
      content: hostText(alias, machine, input.actor, slotIn(input)),
    });
    const delivered = await deliver(
      context,
      [
        {
          at: context.now().toISOString(),
          author: authorOf(writer, alias),
          subject: `crosstalk: ${alias} joins`,
          files,
        },
      ],
      { wait: true },
    );
    const { isRefused = false } = delivered.published ? {} : delivered;
    if (!delivered.published)
      input.note(`joined here, but not pushed: ${delivered.reason}; ${pushLater({ isRefused })}`);
    await context.checkout.follow();
    const { dir, actor } = input;
    // The usual first actor of each machine is no surprise.
    if (actor !== DEFAULTS.actor) await noteShared(context, actor, alias);
    return {
      dir,
      alias,
      actor,
      ...(input.from !== undefined && { from: input.from }),
      ...slotIn(input),
      joined: true,
      pushed: delivered.published,
      ...(isRefused && { refused: true as const }),
      ...(channel === undefined ? {} : { channel }),
    };
  });
}

/**
 * Chooses a free alias; the hostname is only used if no other host file claims it, as both would be
 * ambiguous otherwise.
 */
async function identity(
  context: Context,
  wanted: string | undefined,
): Promise<{ alias: string; machine: string | undefined }> {
  const entries = await readHosts(context.transport, await tipOf(context));
  const hosts = entries.flatMap(({ result }) => (result.ok ? [result.value] : []));
  const taken = new Set([
    ...hosts.map(({ alias }) => alias),
    ...entries.map(({ path }) => path.slice('hosts/'.length, -'.md'.length)),
  ]);
  if (wanted !== undefined && taken.has(wanted)) {
    throw new CrosstalkError(
      'refused',
      `the alias "${wanted}" is taken, hosts are ${[...taken].join(', ')}; choose another with --alias`,
    );
  }
  const base = toName(hostname()) ?? 'host';
  let alias = wanted ?? base;
  for (let n = 2; taken.has(alias); n++) alias = `${base}-${String(n)}`;
  const claimed = hosts.find((host) => host.hostname?.toLowerCase() === hostname().toLowerCase());
  if (claimed === undefined) return { alias, machine: hostname() };
  context.note(
    `the host "${claimed.alias}" already has the hostname ${hostname()}, so this one goes by its alias "${alias}", which this clone remembers`,
  );
  return { alias, machine: undefined };
}

async function additions(
  context: Context,
  input: InitInput & { actor: string },
): Promise<{ files: TemplateFile[]; channel: string | undefined }> {
  const tip = await tipOf(context);
  const profiles = await context.transport.list(tip, ['local/actors', 'upstream/actors']);
  const channels = await context.reader.channels(tip);
  const files = newActor(input.actor, profiles);
  const wanted = input.channel ?? (channels.length === 0 ? 'general' : undefined);
  if (wanted === undefined || channels.some(({ name }) => name === wanted))
    return { files, channel: undefined };
  return {
    files: [...files, newChannel(wanted, resolveFrom(context, input.from, input.login), context)],
    channel: wanted,
  };
}
