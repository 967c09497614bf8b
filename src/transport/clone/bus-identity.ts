import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { plainFileAt } from '../../plain-file.ts';
import { IDENTITY_FILE } from '../../protocol/layout.ts';
import { identityIn } from '../../protocol/signed.ts';
import type { Objects } from '../objects/objects.ts';
import { accessOf, takenApart } from './access.ts';
import { IDENTITY, type Repository, loadRecord, saveRecord } from './handle.ts';
import { knownTip } from './remote.ts';
import type { SettingChange } from './settings.ts';

/**
 * Which transport this is, for what is signed in it (decision 42): the id that `init` made, and the place of
 * the repository. The id stands in the transport, where whoever can push may write another one, that of
 * another transport above all. So the place is the one by which this machine reaches it, and both are
 * recorded when it joins; what the transport says otherwise is held like a changed setting.
 */

/** Bytes of a machine's id, with room for another form of it. */
const MAX_MACHINE_ID = 1024;

/** A name for this machine that its paths carry: a digest, since the id itself is not for others to see. */
function thisMachine(): string {
  const found = plainFileAt('/etc/machine-id', MAX_MACHINE_ID);
  const id = found.kind === 'text' ? found.text.trim() : '';
  return id === '' ? hostname() : createHash('sha256').update(id).digest('hex').slice(0, 16);
}

/**
 * The place of a repository, the same for all spellings of its address and without any password:
 * `machine:/path` for a path, which leads elsewhere on every other machine, or `host/path`. The user of an ssh address is part of it unless it is `git`, as forges have
 * it, since paths may begin at that user's home.
 *
 * @param remote undefined where there is none
 * @param dir where a relative path starts
 * @param machine whose paths these are
 */
export function placeOfRemote(
  remote: string | undefined,
  dir: string,
  machine = thisMachine(),
): string {
  if (remote === undefined) return '-';
  const { server = `${machine}:`, path } = takenApart(accessOf(remote, dir).url);
  const plain = `${server}${path}`
    .replace(/\/+/g, '/')
    .replace(/\/$/, '')
    .replace(/\.git$/, '');
  return plain.replace(/[^\x21-\x7e]|%/gu, encodeURIComponent);
}

/** What the transport says of itself at its tip; undefined where it says nothing. */
async function saidAt(objects: Objects, tip: string): Promise<ReturnType<typeof identityIn>> {
  return identityIn((await objects.text(tip, IDENTITY_FILE)) ?? '');
}

/** The identity in force; recorded the first time that anything of the transport is known here. */
export async function identityOf(repository: Repository, objects: Objects): Promise<string> {
  if (repository.identity !== undefined) return repository.identity;
  const { origin, dir } = repository;
  const [tip, record] = [await knownTip(repository, objects), await loadRecord(repository)];
  if (record?.identity !== undefined) return record.identity;
  const said = tip === undefined ? undefined : await saidAt(objects, tip);
  const identity = `${said?.id ?? '-'} ${placeOfRemote(origin, dir)}`;
  if (tip !== undefined && record !== undefined)
    await saveRecord(repository, { ...record, identity }).catch(() => undefined);
  return identity;
}

/** What the transport says of itself otherwise than what is in force here. */
export async function identityChange(
  repository: Repository,
  objects: Objects,
): Promise<SettingChange | undefined> {
  const tip = await knownTip(repository, objects);
  const said = tip === undefined ? undefined : await saidAt(objects, tip);
  const recorded = await identityOf(repository, objects);
  if (said === undefined || said.whole === recorded) return undefined;
  return { name: IDENTITY, recorded: [recorded], proposed: [said.whole] };
}
