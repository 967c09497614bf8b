import { headlessCommand } from '../../agents/agents.ts';
import { CrosstalkError } from '../../errors.ts';
import {
  canonical,
  optionsOf,
  withTier,
  type ApprovedOptions,
} from '../../protocol/approval/record.ts';
import { PINNED } from '../../protocol/accepted.ts';
import { profileFiles } from '../../protocol/layout.ts';
import { isTier } from '../../protocol/message.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { formatDocument, parseDocumentText } from '../../protocol/text/frontmatter.ts';
import { shown } from '../../protocol/text/result.ts';
import { type Context, tipOf } from '../context.ts';
import { deliverOrNote } from '../deliver.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import {
  assertActorName,
  assertNoPerson,
  profileOf,
  profileText,
  noteMissingProgram,
} from './actors.ts';
import { editProfile, profileToEdit } from './edit-actor.ts';
import { writeApproved, requireOutside } from './approvals.ts';
import { thisHost, writeHostFile, type ThisHost } from './hosts.ts';
import { chooseSandbox, type SandboxChoice, chosenWorkdir } from './workdir-option.ts';
import type { Setting } from '../../protocol/files/setting.ts';
import { changeTier, isInForce } from './set-actor.ts';
import { wholeText } from '../whole-text.ts';
import { hostsOf } from '../view.ts';
import { servedBy } from '../lookup/people.ts';

export interface AddActorInput extends SandboxChoice {
  name: string;
  /** A command line, or the name of a known agent CLI. */
  cli: string;
  tier: string;
  /** The working directory; by default a workspace for each thread. */
  workdir?: string;
  /** The repository that each thread gets a copy of. */
  worktree?: string;
  description?: string;
  host?: string;
  /** An actor whose profile is copied for the new one, if it has one. */
  like?: string;
  login: string;
  /** Asks whether a tier that this machine serves, or a description, may be replaced; without it, it is. */
  mayReplace?: (before: ApprovedOptions, now: ApprovedOptions) => Promise<boolean>;
}

export interface AddedActor {
  /** The new profile to fill in; absent if there was one. */
  path: string | undefined;
  host: string;
  cli: string;
  sandbox?: 'default';
  /** The earlier options of this tier, if this machine served it. */
  replaced?: ApprovedOptions;
}

/**
 * Adds an actor to this host: writes its command into the host file, approves that command on this
 * machine, and writes a profile to fill in if there is none, or its new description into the existing
 * one. Other options of an existing tier stay, unless somebody else has proposed a change of it, which
 * must not come into force.
 *
 * @throws CrosstalkError `refused` when an existing tier must not be replaced
 */
export async function addActor(context: Context, input: AddActorInput): Promise<AddedActor> {
  const { name, tier } = input;
  assertInput(input);
  const host = await thisHost(context, input.host);
  const { alias } = host.file;
  const from = resolveFrom(context, undefined, input.login);
  if (!host.file.actors.has(name)) await assertNoPerson(context, { name, writer: from });
  const cli = headlessCommand(input.cli);
  const settings: Setting[] = [['cli', cli]];
  for (const option of ['workdir', 'worktree'] as const) {
    const { [option]: given } = input;
    if (given !== undefined)
      settings.push([option, await chosenWorkdir(context, given, context.transport.dir, option)]);
  }
  const isNew = host.file.actors.get(name)?.some((one) => one.name === tier) !== true;
  const choice = { ...input };
  if (!isNew) delete choice.suggestSandbox;
  const { sandbox } = await chooseSandbox(context, choice, cli);
  if (sandbox !== undefined) settings.push(['sandbox', sandbox]);
  if (isNew && servesPinned(host)) {
    settings.push(['only_from', PINNED]);
    context.note(
      `${name} serves those whose keys are pinned here, as all actors of ${alias} do; everybody who can push, with: crosstalk actor set ${name} only_from=`,
    );
  }
  const plan = await replacing(context, host, input, settings);
  const { content, was, is, profile } = plan;
  await noteMissingProgram(context, cli);
  let path: string | undefined;
  await writeApproved(
    context,
    alias,
    (approved) => withTier(approved, name, tier, is),
    async () => {
      if (profile !== undefined) await editProfile(context, { ...input, text: profile });
      path = await addProfile(context, input, from);
      const subject = `crosstalk: ${name} on ${alias}`;
      await writeHostFile(context, host, { content, subject, from });
    },
  );
  if (isNew) await noteShared(context, name, alias);
  const kept = sandbox === undefined ? {} : { sandbox };
  return { path, host: alias, cli, ...kept, ...(was !== undefined && { replaced: was }) };
}

/** Notes that other hosts serve an actor of this one too, and run each message as well. */
export async function noteShared(context: Context, name: string, alias: string): Promise<void> {
  const { serving } = await servedBy(context);
  const others = serving.filter((one) => one.alias !== alias && one.actors.includes(name));
  if (others.length === 0 || (await profileOf(context, name)).pool === true) return;
  const where = others.map((one) => one.alias).join(', ');
  context.note(
    `${name} is served by ${where} too, and each host runs each message: name@host is for one of them; to let any one of them take it: crosstalk actor set ${name} serve=one`,
  );
}

/** Whether all tiers of a host serve only those whose keys are pinned on it, as in a project. */
function servesPinned({ file }: ThisHost): boolean {
  const tiers = [...file.actors.values()].flat();
  return tiers.length > 0 && tiers.every(({ onlyFrom }) => onlyFrom?.includes(PINNED) === true);
}

/** Plans the change of the host file, and asks about the options that it replaces. */
async function replacing(
  context: Context,
  host: ThisHost,
  input: AddActorInput,
  settings: readonly Setting[],
): Promise<{
  content: string;
  was: ApprovedOptions | undefined;
  is: ApprovedOptions;
  profile: string | undefined;
}> {
  const { name, tier, mayReplace } = input;
  let agreed = '';
  for (;;) {
    const there = await changeTier(context, host, { name, tier }, settings);
    const { before } = there;
    const isOurs = before === undefined || (await isInForce(context, input, before));
    const plan = isOurs
      ? there
      : await changeTier(context, host, { name, tier }, settings, { anew: true });
    const [was, is] = [before && optionsOf(before), optionsOf(plan.now)];
    await requireOutside(context, plan.now);
    const said = await redescribed(context, input);
    const [from, to] = [
      { ...was, ...(said && { description: said.was }) },
      { ...(was && is), ...(said && { description: said.is }) },
    ];
    const shown = canonical([from, to]);
    // If somebody has changed the file while the question was open, it is asked again.
    if (canonical(from) === canonical(to) || shown === agreed || mayReplace === undefined)
      return { ...plan, was, is, profile: said?.text };
    if (!(await mayReplace(from, to)))
      throw new CrosstalkError(
        'refused',
        `${name}.${tier} on ${host.file.alias} stays as it is, as asked`,
      );
    agreed = shown;
  }
}

/** Returns the profile of an actor with another description, if one is given; undefined when nothing changes. */
async function redescribed(
  context: Context,
  { name, description: is }: AddActorInput,
): Promise<{ was: string; is: string; text: string } | undefined> {
  const { profile: there } = await profileOf(context, name);
  if (is === undefined || there === undefined || there.description === is) return undefined;
  const { description: was } = there;
  const { text } = await profileToEdit(context, name);
  const document = parseDocumentText(text);
  if (!document.ok || text === profileText(name, was))
    return { was, is, text: profileText(name, is) };
  const fields = { ...document.value.fields, description: is };
  return { was, is, text: formatDocument(fields, document.value.body) };
}

function assertInput({ name, tier, cli, description = '' }: AddActorInput): void {
  assertActorName(name);
  if (/\p{Cc}/u.test(description))
    throw new CrosstalkError(
      'usage',
      `--description ${shown(description)} has a control character in it; write it on one line`,
    );
  if (!isTier(tier))
    throw new CrosstalkError('usage', `--tier ${shown(tier)} is not a tier name; choose another`);
  if (cli.trim() === '')
    throw new CrosstalkError(
      'usage',
      '--cli is empty; name an agent CLI or a command line, as in: --cli claude',
    );
}

async function addProfile(
  context: Context,
  input: AddActorInput,
  from: string,
): Promise<string | undefined> {
  const { name, description } = input;
  const { profile, problem } = await profileOf(context, name);
  if (profile !== undefined || problem !== undefined) return undefined;
  const [path] = profileFiles(name);
  const like = input.like === undefined ? undefined : await profileOf(context, input.like);
  const content =
    like?.profile === undefined || description !== undefined
      ? profileText(name, description)
      : await profileLike(context, like.profile.path, name);
  await deliverOrNote(context, [
    {
      at: context.now().toISOString(),
      author: authorOf(from, context.hostname),
      subject: `crosstalk: profile of ${name}`,
      files: [{ path, content }],
    },
  ]);
  return path;
}

/** Maximum number of parallel actors that are added at once. */
const MAX_HANDS = 50;

/**
 * Returns the names of parallel actors on this machine: `worker-1`, `worker-2` and so on. A name that two
 * hosts serve runs on both, so those of other hosts are skipped; those of this machine are used again, so
 * that repeating the command adds nothing.
 *
 * @param hand `count` as it was typed
 * @throws CrosstalkError `usage` for a count that is not a number from 1 to 50, and for an actor that
 *   this machine serves under that very name
 */
export async function namesOfHands(
  context: Context,
  { name, count, host }: { name: string; count: string; host?: string },
): Promise<string[]> {
  const wanted = /^\d{1,2}$/.test(count) ? Number(count) : 0;
  if (wanted < 1 || wanted > MAX_HANDS)
    throw new CrosstalkError(
      'usage',
      `--count ${shown(count)} is not a whole number from 1 to ${String(MAX_HANDS)}`,
    );
  const { alias, actors } = (await thisHost(context, host)).file;
  if (actors.has(name))
    throw new CrosstalkError(
      'usage',
      `--count ${count} would add ${name}-1 and more beside ${name}, which ${alias} serves; for ${count} runs of it at a time: crosstalk actor set ${name} count=${count}`,
    );
  const taken = new Set(
    (await hostsOf(context)).flatMap(({ result }) =>
      result.ok && result.value.alias !== alias ? [...result.value.actors.keys()] : [],
    ),
  );
  const names: string[] = [];
  for (let number = 1; names.length < wanted; number++) {
    const one = `${name}-${String(number)}`;
    if (!taken.has(one)) names.push(one);
  }
  return names;
}

/** Returns the profile at a path, for an actor with another name. */
async function profileLike(context: Context, path: string, name: string): Promise<string> {
  const text = (await wholeText(context, await tipOf(context), path)) ?? '';
  const document = parseDocumentText(text);
  if (!document.ok) return profileText(name);
  return formatDocument({ ...document.value.fields, name }, document.value.body);
}
