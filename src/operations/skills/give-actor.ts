import { resolve } from 'node:path';
import { BESIDE_LIMITS, besideSkill, skillAt, whyNotBeside } from '../../bus/automation/skills.ts';
import { knowProfile, readFrom } from '../../bus/profiles.ts';
import { CrosstalkError } from '../../errors.ts';
import { readPlainFile } from '../../plain-file.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { parseProfile } from '../../protocol/files/actor.ts';
import {
  parseExportedActor,
  type ExportedActor,
  type ReadActor,
} from '../../protocol/files/exported-actor.ts';
import { secretsIn } from '../../protocol/files/mcp-servers.ts';
import { SKILL_FILE, skillFolders } from '../../protocol/files/skill.ts';
import { profileFiles } from '../../protocol/layout.ts';
import { isName } from '../../protocol/names.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { formatDocument, parseDocumentText } from '../../protocol/text/frontmatter.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliverOrNote, type Delivered } from '../deliver.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { profilesOf, showActor } from '../setup/actors.ts';
import { secretsOf } from '../setup/secrets.ts';

/** Bytes of a file with an actor. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * An actor to give away. Skills that came with Crosstalk stay out: whoever gets it has them.
 *
 * @throws CrosstalkError `not_found` for an unknown actor, `refused` for one without a readable profile
 */
export async function exportActor(context: Context, name: string): Promise<ExportedActor> {
  const { profile: path } = await showActor(context, name);
  const { transport, reader } = context;
  const tip = await tipOf(context);
  const text = path === null ? undefined : await reader.text(tip, path);
  const read = text === undefined ? undefined : parseProfile(text, name);
  if (text === undefined || read?.ok !== true)
    throw new CrosstalkError(
      'refused',
      `${name} has no profile that can be read, so there is nothing to give away; write one with: crosstalk actor edit ${name}`,
    );
  const { skills = [], mcps = [] } = read.value;
  if (read.value.skills === undefined)
    context.note(`the profile of ${name} names no skills, so none goes along`);
  const given: ExportedActor['skills'] = [];
  for (const skill of skills) {
    const found = await skillAt(transport, tip, skill);
    if (found.kind === 'found' && found.folder.startsWith('upstream/')) continue;
    if (found.kind === 'found') given.push(await exported(context, tip, skill, found.folder));
    else context.note(`the skill ${skill} is left out: it is not there, or cannot be read`);
  }
  return { crosstalk_actor: 1, name, profile: text, skills: given, secrets: secretsIn(mcps) };
}

async function exported(
  { transport, reader, note }: Context,
  tip: string,
  name: string,
  folder: string,
): Promise<ExportedActor['skills'][number]> {
  const { files, left } = await besideSkill(transport, tip, folder);
  await transport.prefetch(files.map(({ oid }) => oid));
  const main = {
    path: SKILL_FILE,
    content: (await reader.text(tip, `${folder}/${SKILL_FILE}`)) ?? '',
  };
  const beside: (typeof main)[] = [];
  for (const file of files) {
    const content = (await transport.objects.read(file.oid))?.content?.toString('utf8');
    if (content === undefined || /[\uFFFD\0]/.test(content))
      left.push(`${file.name}, as it is no text`);
    else beside.push({ path: file.name, content });
  }
  for (const line of left) note(`of the skill ${name} is left out: ${line}`);
  return { name, files: [main, ...beside] };
}

/** What became of an imported actor. */
export interface ImportedActor {
  name: string;
  path: string;
  skills: string[];
  /** Its MCP servers, which are in force nowhere before they are approved there. */
  mcps: string[];
  /** Secrets that they need and that this machine does not keep. */
  missing: string[];
  delivered: Delivered;
}

/**
 * Puts an actor that somebody gave away on the bus. Nothing of it is approved: who wrote the file is
 * unknown.
 *
 * @param input `file`: its path; `name`: under which it is to go; `replace`: an actor or skill of that
 *   name may be replaced
 * @throws CrosstalkError `usage` for a file that is no actor, `refused` where something is in its place;
 *   nothing is written then
 */
export async function importActor(
  context: Context,
  input: {
    file: string;
    name?: string;
    replace: boolean;
    login: string;
    from?: string;
    allowSecret: boolean;
  },
): Promise<ImportedActor> {
  const read = renamed(await readActor(context, input.file), input.name);
  await refreshOrNote(context);
  const tip = await tipOf(context);
  const [path] = profileFiles(read.name);
  const places = [path, ...read.skills.map(({ name }) => `${skillFolders(name)[0]}/${SKILL_FILE}`)];
  for (const place of input.replace ? [] : places)
    if ((await context.reader.text(tip, place)) !== undefined)
      throw new CrosstalkError(
        'refused',
        `there is ${place} already, so nothing was imported; give the actor another name with --name, or replace what is there with --replace`,
      );
  const from = resolveFrom(context, input.from, input.login);
  const head = { at: context.now().toISOString(), author: authorOf(from, context.hostname) };
  const delivered = await deliverOrNote(
    context,
    [
      ...read.skills.map(({ name, files }) => {
        const [folder] = skillFolders(name);
        return {
          ...head,
          subject: `crosstalk: skill ${name}`,
          files: files.map((file) => ({ path: `${folder}/${file.path}`, content: file.content })),
          clear: folder,
        };
      }),
      {
        ...head,
        subject: `crosstalk: profile of ${read.name}`,
        files: [{ path, content: read.profile }],
      },
    ],
    { allowSecret: input.allowSecret },
  );
  await knowProfile(profilesOf(context), read.name, readFrom(path, read.parsed));
  const { mcps = [] } = read.parsed;
  return {
    name: read.name,
    path,
    skills: read.skills.map(({ name }) => name),
    mcps: mcps.map(({ name }) => name),
    missing: await secretsOf(context).missing(secretsIn(mcps)),
    delivered,
  };
}

async function readActor(context: Context, file: string): Promise<ReadActor> {
  const found = await readPlainFile(resolve(context.cwd, file), MOST_BYTES);
  if (found.kind !== 'text')
    throw new CrosstalkError(
      'usage',
      `${shown(file)} ${found.kind === 'odd' ? found.why : 'is not there'}; name a file that crosstalk actor export has written`,
    );
  const read = parseExportedActor(found.text, whyNotBeside, BESIDE_LIMITS);
  if (read.ok) return read.value;
  throw new CrosstalkError(
    'usage',
    `${shown(file)} is no exported actor: ${read.problems.slice(0, 5).join('; ')}`,
  );
}

function renamed(actor: ReadActor, name: string | undefined): ReadActor {
  if (name === undefined || name === actor.name) return actor;
  if (!isName(name) || name === EVERYONE)
    throw new CrosstalkError(
      'usage',
      `--name ${shown(name)} is no name for an actor; choose another`,
    );
  const document = parseDocumentText(actor.profile);
  const profile = document.ok
    ? formatDocument({ ...document.value.fields, name }, document.value.body)
    : '';
  const parsed = parseProfile(profile, name);
  if (!parsed.ok)
    throw new CrosstalkError('usage', `--name ${shown(name)}: ${parsed.problems.join('; ')}`);
  return { ...actor, name, profile, parsed: parsed.value };
}
