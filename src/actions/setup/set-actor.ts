import { isMap, isScalar, type Document } from 'yaml';
import { wholeText } from '../whole-text.ts';
import { headlessCommand } from '../../agents/agents.ts';
import { CrosstalkError } from '../../errors.ts';
import {
  canonical,
  optionsOf,
  withoutTiers,
  withTier,
  type ApprovedOptions,
} from '../../protocol/approval/record.ts';
import { parseHostFile, type HostFile, type Tier } from '../../protocol/files/host-file.ts';
import { parseSetting, type Setting } from '../../protocol/files/setting.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { approvedFor, loadApprovals } from '../../state/approvals.ts';
import { tipOf, type Context } from '../context.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { knownHost, requireOutside, writeApproved } from './approvals.ts';
import { chosenWorkdir } from './workdir-option.ts';
import { thisHost, withHeader, writeHostFile, type ThisHost } from './hosts.ts';
import { unkept } from '../../dispatcher/run/budgets.ts';
import { newestBy } from '../../index/nobody.ts';
import { ASKER } from '../../protocol/files/tier-gate.ts';
import { withIndex } from '../index/indexing.ts';

/** An actor, one of its tiers, and a host that this machine may be. */
interface Named {
  name: string;
  /** The default tier if absent. */
  tier?: string;
  host?: string;
  login: string;
}

/** The changed tier; times are in milliseconds. */
export interface ChangedActor {
  host: string;
  tier: string;
  before: ApprovedOptions;
  now: ApprovedOptions;
}

/**
 * Changes options of an actor's tier in this machine's host file, and approves the changed tier.
 *
 * @param settings such as `count=2`, named as in the host file; without a value the default applies
 * @throws CrosstalkError `not_found` for an actor or a tier that this machine does not serve, `usage` for
 *   an option that does not exist or an invalid value, `refused` while another change of the tier is held
 */
export async function setActor(
  context: Context,
  input: Named & { settings: readonly string[] },
): Promise<ChangedActor> {
  const settings: Setting[] = [];
  for (const text of input.settings) settings.push(await checked(context, parseSetting(text)));
  const host = await thisHost(context, input.host);
  const { alias } = host.file;
  const named = tierNamed(host.file, input);
  const of = { name: input.name, tier: named.name };
  const { content, before, now } = await changeTier(context, host, of, settings);
  const isHeld = before === undefined || !(await isInForce(context, input, before));
  // A tier in force may overwrite a held change.
  if (isHeld && !(await isInForce(context, input, now)))
    throw await heldProblem(context, input, named.name);
  requireKeepable(now);
  await requireOutside(context, now);
  const from = resolveFrom(context, undefined, input.login);
  const subject = `crosstalk: ${input.name} on ${alias}`;
  const { name } = input;
  await writeApproved(
    context,
    alias,
    (approved) => withTier(approved, name, now.name, optionsOf(now)),
    () => writeHostFile(context, host, { content, subject, from }),
  );
  await noteSilent(context, settings, from);
  return { host: alias, tier: now.name, before: optionsOf(before ?? now), now: optionsOf(now) };
}

/**
 * Returns the text of a host file with changed options of a tier, which is added if necessary.
 *
 * @param how `anew`: no option of the tier stays
 * @returns the tier before, as in the unchanged text, and now
 * @throws CrosstalkError `usage` for an invalid value
 */
export async function changeTier(
  context: Context,
  host: ThisHost,
  { name, tier }: { name: string; tier: string },
  settings: readonly Setting[],
  how: { anew?: boolean } = {},
): Promise<{ content: string; before: Tier | undefined; now: Tier }> {
  const path = ['actors', name, tier];
  const { content, file, was } = await changed(context, host, (header) => {
    const slot = nodeAt(header, path);
    if (how.anew === true) header.deleteIn(path);
    else if (isScalar(slot)) header.setIn(path, header.createNode({ cli: slot.value }));
    for (const [option, value] of settings) {
      if (value === '') header.deleteIn([...path, option]);
      else header.setIn([...path, option], option === 'cli' ? headlessCommand(value) : value);
    }
    const left = nodeAt(header, path);
    if (isMap(left) && left.items.length === 1 && left.has('cli'))
      header.setIn(path, left.get('cli'));
  });
  const before = was.actors.get(name)?.find((one) => one.name === tier);
  return { content, before, now: tierNamed(file, { name, tier }) };
}

/**
 * Removes an actor, or one of its tiers, from this machine's host file, with its approval; also the
 * approval of an actor that somebody else has removed from the file.
 *
 * @returns the removed tiers, and the remaining ones
 * @throws CrosstalkError `not_found` for an actor or a tier that this machine does not serve
 */
export async function removeActor(
  context: Context,
  input: Named,
): Promise<{ host: string; tiers: string[]; left: string[] }> {
  const { name } = input;
  const host = await thisHost(context, input.host);
  const { alias } = host.file;
  const known = await approvedTiers(context, alias, name);
  const declared = (host.file.actors.get(name) ?? []).map((tier) => tier.name);
  if (input.tier !== undefined && !known.includes(input.tier)) tierNamed(host.file, input);
  if (declared.length === 0 && known.length === 0) tiersOf(host.file, input);
  const all = [...new Set([...declared, ...known])];
  const gone = input.tier === undefined ? all : [input.tier];
  const left = declared.filter((tier) => !gone.includes(tier));
  const write = async (): Promise<void> => {
    if (!declared.some((tier) => gone.includes(tier))) return;
    const { content, file } = await changed(context, host, (header) => {
      if (left.length === 0) header.deleteIn(['actors', name]);
      else for (const tier of gone) header.deleteIn(['actors', name, tier]);
    });
    if (file.actors.get(name)?.some((tier) => gone.includes(tier.name)) === true)
      throw new CrosstalkError(
        'refused',
        `${host.path} still has ${name} after the change; nothing was written, edit it by hand`,
      );
    const from = resolveFrom(context, undefined, input.login);
    const subject = `crosstalk: ${name} no longer on ${alias}`;
    await writeHostFile(context, host, { content, subject, from });
  };
  await writeApproved(context, alias, (approved) => withoutTiers(approved, name, gone), write);
  return { host: alias, tiers: gone, left };
}

async function approvedTiers({ paths }: Context, alias: string, name: string): Promise<string[]> {
  const approved = approvedFor(await loadApprovals(paths.approvals), alias);
  return Object.hasOwn(approved, name) ? Object.keys(approved[name]?.tiers ?? {}) : [];
}

/** Whether a tier of the host file is in force here, so that no part of it waits for approval. */
export async function isInForce(
  context: Context,
  { name, host: alias }: Pick<Named, 'name' | 'host'>,
  tier: Tier,
): Promise<boolean> {
  const { host } = await knownHost(context, alias);
  const running = host?.inForce.get(name)?.find((one) => one.name === tier.name);
  return running !== undefined && canonical(optionsOf(running)) === canonical(optionsOf(tier));
}

/**
 * Builds the error for a held change of the tier: a proposal by somebody else must not come into force
 * along with a change of one option.
 */
async function heldProblem(
  context: Context,
  { name, host }: Named,
  tier: string,
): Promise<CrosstalkError> {
  const { held } = await knownHost(context, host);
  const change = held.find((one) => one.actor === name && (one.tier ?? tier) === tier);
  const digest = change === undefined ? '' : ` (${change.digest})`;
  return new CrosstalkError(
    'refused',
    `a change of ${name}.${tier} is held${digest}, and would come into force with this one; decide about it first: crosstalk host show`,
  );
}

/** Returns the node of a header, which keeps its comments, instead of its value. */
function nodeAt(header: Document, path: readonly string[]): unknown {
  const keepScalar = true;
  return header.getIn(path, keepScalar);
}

async function changed(
  context: Context,
  host: ThisHost,
  change: (header: Document) => void,
): Promise<{ content: string; file: HostFile; was: HostFile }> {
  const text = (await wholeText(context, await tipOf(context), host.path)) ?? '';
  const content = withHeader(text, change);
  const [before, parsed] = [parseHostFile(text), parseHostFile(content)];
  if (before.ok && parsed.ok) return { content, file: parsed.value, was: before.value };
  throw new CrosstalkError(
    'usage',
    `${(parsed.ok ? [] : parsed.problems).join('; ')}; nothing was changed in ${host.path}`,
  );
}

function tiersOf({ alias, actors }: HostFile, { name }: Pick<Named, 'name'>): Tier[] {
  const tiers = actors.get(name);
  if (tiers !== undefined) return tiers;
  const served = actors.size === 0 ? 'nobody' : [...actors.keys()].join(', ');
  throw new CrosstalkError(
    'not_found',
    `${alias} does not serve ${shown(name)}${didYouMean(name, actors.keys())}; it serves ${served}; add it with: crosstalk actor add <name> --cli <command>`,
  );
}

/** @throws CrosstalkError `not_found` for an actor or a tier that this machine does not serve */
export function tierNamed(file: HostFile, named: Pick<Named, 'name' | 'tier'>): Tier {
  const tiers = tiersOf(file, named);
  const wanted = named.tier ?? tiers[0]?.name ?? '';
  const tier = tiers.find(({ name }) => name === wanted);
  if (tier !== undefined) return tier;
  throw new CrosstalkError(
    'not_found',
    `${named.name} has no tier ${shown(wanted)} on ${file.alias}, only ${tiers.map(({ name }) => name).join(', ')}; name one with --tier`,
  );
}

/** Returns the setting in the form for the file, after checks on this machine. */
async function checked(context: Context, setting: Setting): Promise<Setting> {
  const [option, value] = setting;
  if ((option !== 'workdir' && option !== 'worktree') || value === '') return setting;
  return [option, await chosenWorkdir(context, value, context.transport.dir, option)];
}

/** @throws CrosstalkError `usage` for a budget of a value that the command does not report */
function requireKeepable(tier: Tier): void {
  const problem = unkept(tier);
  if (problem !== undefined) throw new CrosstalkError('usage', `${problem}; nothing was changed`);
}

/** Warns about a person who is to decide, and who has not written here yet. */
async function noteSilent(
  context: Context,
  settings: readonly (readonly [option: string, value: string])[],
  operator: string,
): Promise<void> {
  for (const [option, value] of settings) {
    if (option !== 'gate' && option !== 'permit') continue;
    if (['', ASKER, operator].includes(value)) continue;
    const isKnown = await withIndex(context, {}, (index) => newestBy(index, value) !== undefined);
    if (!isKnown)
      context.note(
        `nobody called ${shown(value)} has written here yet: only somebody who writes under that name can decide; say ${option}=${ASKER} for whoever asks`,
      );
  }
}
