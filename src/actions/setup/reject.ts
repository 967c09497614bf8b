import { isMap, parseDocument, type Document } from 'yaml';
import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../../errors.ts';
import { type HeldChange, nameText } from '../../protocol/approval/approval.ts';
import { canonical, own, tierOf, wholeOf } from '../../protocol/approval/record.ts';
import { headerPlace } from '../../protocol/text/fences.ts';
import { approvedFor, loadApprovals } from '../../state/approvals.ts';
import { tipOf, type Context } from '../context.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { wholeText } from '../whole-text.ts';
import { chooseFrom, knownHost, isOfFile, versionsOf } from './approvals.ts';
import { thisHost, withHeader, writeHostFile, type ThisHost } from './hosts.ts';

/** The value of a tier in a host file: its command, or its options. */
type Slot = unknown;

/**
 * Rejects held changes of this machine's host file: approved tiers are restored as in their newest
 * version in the history, and tiers that were never approved are removed.
 *
 * @returns the rejected changes
 * @throws CrosstalkError `not_found` for a digest of no held change, `refused` for a change that is not
 *   in the host file, and when no version has the approved tier
 */
export async function reject(
  context: Context,
  input: { host?: string; digests: readonly string[]; login: string },
): Promise<HeldChange[]> {
  const host = await thisHost(context, input.host);
  const { held } = await knownHost(context, input.host);
  const chosen = input.digests.map((digest) => chooseFrom(held, digest, 'rejected'));
  for (const change of chosen) if (!isOfFile(change)) throw elsewhere(change);
  const before = await Promise.all(chosen.map((change) => approvedSlot(context, host, change)));
  const text = (await wholeText(context, await tipOf(context), host.path)) ?? '';
  const content = withHeader(text, (header) => {
    for (const [at, change] of chosen.entries()) putBack(header, change, before[at]);
  });
  const { alias } = host.file;
  const subject = `crosstalk: ${chosen.map(({ name }) => name).join(', ')} on ${alias} as approved`;
  const from = resolveFrom(context, undefined, input.login);
  await writeHostFile(context, host, { content, subject, from });
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return chosen;
}

function elsewhere({ kind, name, actor = '' }: HeldChange): CrosstalkError {
  const how =
    kind === 'mcps'
      ? `stands in a profile; change that with: crosstalk actor edit ${actor}`
      : kind === 'serve'
        ? `stands in a profile; set it back with: crosstalk actor set ${actor} serve=one`
        : 'is a setting of this clone; set it back with git config';
  return new CrosstalkError('refused', `${nameText(name)} ${how}; nothing was changed`);
}

/**
 * Returns the approved value of a change's tier, from the history of the host file; undefined when none
 * is approved.
 */
async function approvedSlot(
  context: Context,
  { path, file: { alias } }: ThisHost,
  { kind, name: what, actor = '', tier, approved: usual = '' }: HeldChange,
): Promise<Slot> {
  const approved = approvedFor(await loadApprovals(context.paths.approvals), alias);
  const name = kind === 'default' ? usual : (tier ?? '');
  const options = own(own(approved, actor)?.tiers ?? {}, name);
  if (options === undefined) return undefined;
  const wanted = canonical(wholeOf(tierOf(name, options)));
  for await (const { text, file } of versionsOf(context, await tipOf(context), path)) {
    const found = file?.actors.get(actor)?.find((one) => one.name === name);
    if (found === undefined || canonical(wholeOf(found)) !== wanted) continue;
    const { start, end } = headerPlace(text) ?? { start: 0, end: 0 };
    const header = parseDocument(text.slice(start, end), { schema: 'failsafe' });
    const fields = header.toJS() as { actors: Record<string, Record<string, Slot>> };
    return fields.actors[actor]?.[name];
  }
  const [cli, ...others] = Object.keys(options);
  if (cli === 'cli' && others.length === 0) return options['cli'];
  throw new CrosstalkError(
    'refused',
    `no version of ${path} has ${nameText(what)} as it is approved; write it with: crosstalk actor set ${actor} <option>=<value>`,
  );
}

/** @param slot the approved value; undefined for a tier that was never approved */
function putBack(
  header: Document,
  { kind, actor = '', tier, approved = '' }: HeldChange,
  slot: Slot,
): void {
  const actors = ['actors', actor];
  if (kind === 'default') {
    header.deleteIn([...actors, approved]);
    const tiers = header.getIn(actors);
    if (isMap(tiers)) tiers.items.unshift(header.createPair(approved, slot));
    return;
  }
  const path = [...actors, tier];
  if (slot !== undefined) {
    header.setIn(path, header.createNode(slot));
    return;
  }
  header.deleteIn(path);
  const tiers = header.getIn(actors);
  if (isMap(tiers) && tiers.items.length === 0) header.deleteIn(actors);
}
