import { formatChannel } from '../../protocol/files/channel.ts';
import { formatDocument } from '../../protocol/text/frontmatter.ts';
import { channelFile, IDENTITY_FILE, profileFiles } from '../../protocol/layout.ts';
import { placeOfRemote } from '../../transport/clone/bus-identity.ts';
import type { Clock } from '../../clock.ts';
import { profileText } from './actors.ts';
import type { TemplateFile } from './template.ts';
import { slotOf, type TierSlot } from './tier-slot.ts';

/** The profile of an actor that the template does not contain. */
export function newActor(actor: string, existing: readonly { path: string }[]): TemplateFile[] {
  const [local, upstream] = profileFiles(actor);
  const known = existing.some(({ path }) => path === local || path === upstream);
  return known ? [] : [{ path: local, content: profileText(actor) }];
}

/** The file by which a new transport says which one it is, and where it was made. */
export function newIdentity(
  remote: string | undefined,
  dir: string,
  { newId }: Pick<Clock, 'newId'>,
): TemplateFile {
  return { path: IDENTITY_FILE, content: `${newId()} ${placeOfRemote(remote, dir)}\n` };
}

/** The `CHANNEL.md` of a new channel with a random id. */
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

/** A host file that serves one actor. `machine` is left out when another host file claims it. */
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
