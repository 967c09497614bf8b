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
 * The identity of a transport, which signatures cover (docs/decisions/16-signatures.md): the id that `init` made, and the
 * place of the repository. The id is a file of the transport, where anyone who can push may write another
 * one, in particular that of another transport. So the place is the address by which this machine reaches
 * it, and both are recorded when it joins; a different identity in the transport is held like a changed
 * setting.
 */

/** Maximum bytes of a machine's id, with room for another form of it. */
const MAX_MACHINE_ID = 1024;

/** Returns a name for this machine to put before its paths: a digest, since the id itself must stay private. */
function thisMachine(): string {
  const found = plainFileAt('/etc/machine-id', MAX_MACHINE_ID);
  const id = found.kind === 'text' ? found.text.trim() : '';
  return id === '' ? hostname() : createHash('sha256').update(id).digest('hex').slice(0, 16);
}

/**
 * Returns the place of a repository, the same for all spellings of its address and without any password:
 * `machine:/path` for a path, which leads elsewhere on every other machine, or `host/path`. The user of
 * an ssh address is part of it unless it is `git`, as forges have it, since paths may begin at that
 * user's home.
 *
 * @param remote undefined without a remote
 * @param dir the folder that a relative path starts from
 * @param machine the machine of these paths
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

/** Reads the identity that the transport states at its tip; undefined where it states none. */
async function saidAt(objects: Objects, tip: string): Promise<ReturnType<typeof identityIn>> {
  return identityIn((await objects.text(tip, IDENTITY_FILE)) ?? '');
}

/** Returns the identity in force, and records it as soon as any commit of the transport is known here. */
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

/** Returns the change when the transport states another identity than the one in force here. */
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
