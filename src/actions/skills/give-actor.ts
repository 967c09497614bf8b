import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import { wholeText } from '../whole-text.ts';
import { BESIDE_LIMITS, besideSkill, skillAt, whyNotBeside } from '../../bus/automation/skills.ts';
import { knowProfile, readFrom } from '../../bus/profiles.ts';
import { CrosstalkError } from '../../errors.ts';
import { readPlainFile, type PlainFile } from '../../plain-file.ts';
import { parseProfile } from '../../protocol/files/actor.ts';
import {
  parseExportedActor,
  type ExportedActor,
  type ReadActor,
} from '../../protocol/files/exported-actor.ts';
import { secretsIn, namesSecret, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { SKILL_FILE, skillFolders } from '../../protocol/files/skill.ts';
import { profileFiles } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { formatDocument, parseDocumentText } from '../../protocol/text/frontmatter.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliverOrNote, type Delivered } from '../deliver.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { assertActorName, knownActors, profileOf, showActor } from '../setup/actors.ts';
import { secretsOf, knowSecrets } from '../setup/secrets.ts';
import { saidSecrets } from '../../protocol/text/secrets.ts';

/** Maximum bytes of a file with an actor. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * Exports an actor. Skills that came with Crosstalk are left out: the recipient has them.
 *
 * @throws CrosstalkError `not_found` for an unknown actor, `refused` for one without a readable profile
 */
export async function exportActor(context: Context, name: string): Promise<ExportedActor> {
  const { profile: path } = await showActor(context, name);
  const { transport } = context;
  const tip = await tipOf(context);
  const text = path === null ? undefined : await wholeText(context, tip, path);
  const read = text === undefined ? undefined : parseProfile(text, name);
  // A profile that is in force instead of another is not the one that the user means to export.
  const { problem } = await profileOf(context, name);
  if (text === undefined || read?.ok !== true || problem !== undefined)
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
  const actor = { crosstalk_actor: 1, name, profile: text, skills: given } as const;
  await noteSecrets(context, actor, mcps);
  return { ...actor, secrets: secretsIn(mcps) };
}

async function exported(
  context: Context,
  tip: string,
  name: string,
  folder: string,
): Promise<ExportedActor['skills'][number]> {
  const { transport, note } = context;
  const { files, left } = await besideSkill(transport, tip, folder);
  await transport.prefetch(files.map(({ oid }) => oid));
  const main = {
    path: SKILL_FILE,
    content: (await wholeText(context, tip, `${folder}/${SKILL_FILE}`)) ?? '',
  };
  const beside: (typeof main)[] = [];
  for (const file of files) {
    const content = (await transport.objects.read(file.oid))?.content;
    if (content === undefined || !isUtf8(content) || content.includes(0))
      left.push(`${file.name}, as it is no text`);
    else beside.push({ path: file.name, content: content.toString('utf8') });
  }
  for (const line of left) note(`of the skill ${name} is left out: ${line}`);
  return { name, files: [main, ...beside] };
}

/** The result of importing an actor. */
export interface ImportedActor {
  name: string;
  path: string;
  skills: string[];
  /** Its MCP servers, which are in force nowhere until they are approved there. */
  mcps: string[];
  /** The secrets that they need and that this machine does not store. */
  missing: string[];
  delivered: Delivered;
}

/**
 * Puts an exported actor on the bus. Nothing of it is approved: the author of the file is unknown.
 *
 * @param input `file`: its path, or `text`: its content; `name`: the name under which to import it;
 *   `replace`: an actor or skill of that name may be replaced
 * @throws CrosstalkError `usage` for a file that is not an actor, `refused` when something is in its
 *   place; nothing is written then
 */
export async function importActor(
  context: Context,
  input: {
    file: string;
    text?: string;
    name?: string;
    replace: boolean;
    login: string;
    from?: string;
    allowSecret: boolean;
  },
): Promise<ImportedActor> {
  const { file, text } = input;
  const found: PlainFile =
    text === undefined
      ? await readPlainFile(resolve(context.cwd, file), MOST_BYTES, { whole: true })
      : { kind: 'text', text };
  const read = renamed(readActor(file, found), input.name);
  assertActorName(read.name);
  await refreshOrNote(context);
  const tip = await tipOf(context);
  const [path] = profileFiles(read.name);
  if (!input.replace) await assertFree(context, tip, read);
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
  await knowProfile(context, read.name, readFrom(path, read.parsed));
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

/**
 * Ensures that an import without `replace` replaces nothing that exists, including the parts that came with
 * Crosstalk.
 *
 * @throws CrosstalkError `refused` when something exists
 */
async function assertFree(
  context: Context,
  tip: string,
  { name, skills }: ReadActor,
): Promise<void> {
  const places = [
    ...profileFiles(name),
    ...skills.flatMap((one) => skillFolders(one.name).map((folder) => `${folder}/${SKILL_FILE}`)),
  ];
  const found = await context.transport.standing(tip, places);
  const served = (await knownActors(context)).find((one) => one.name === name)?.hosts[0]?.alias;
  const [there = served === undefined ? undefined : `an actor ${name}, served by ${served},`] = [
    ...found.keys(),
  ];
  if (there !== undefined)
    throw new CrosstalkError(
      'refused',
      `there is ${there} already, so nothing was imported; give the actor another name with --name, or replace what is there with --replace`,
    );
}

function readActor(file: string, found: PlainFile): ReadActor {
  if (found.kind !== 'text')
    throw new CrosstalkError(
      'usage',
      `${shown(file)} ${found.kind === 'odd' ? found.why : 'is not there'}; name a file that crosstalk actor export has written, or - for stdin`,
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
  assertActorName(name);
  const document = parseDocumentText(actor.profile);
  const profile = document.ok
    ? formatDocument({ ...document.value.fields, name }, document.value.body)
    : '';
  const parsed = parseProfile(profile, name);
  if (!parsed.ok)
    throw new CrosstalkError('usage', `--name ${shown(name)}: ${parsed.problems.join('; ')}`);
  return { ...actor, name, profile, parsed: parsed.value };
}

/** The names of variables, headers and options whose values are secret. */
const SECRET_NAME = /key|token|secret|passw|auth|credential|cookie/i;

/** Notes everything in an exported actor that looks like a secret; the user decides whether to give it away. */
async function noteSecrets(
  context: Context,
  { name, profile, skills }: Pick<ExportedActor, 'name' | 'profile' | 'skills'>,
  mcps: readonly McpServer[],
): Promise<void> {
  for (const server of mcps)
    for (const where of literalsIn(server))
      context.note(
        `the tool ${server.name} has a value of its own for ${where}, which is given away; if it is secret, keep it with crosstalk secret set <name>, and write \${<name>} in its place`,
      );
  await knowSecrets(context);
  const files = [
    { path: profileFiles(name)[0], content: profile },
    ...skills.flatMap((skill) =>
      skill.files.map(({ path, content }) => ({
        path: `${skillFolders(skill.name)[0]}/${path}`,
        content,
      })),
    ),
  ];
  const author = { name: '', email: '' };
  const found = await context.screen.look({ commits: [{ author, at: '', subject: '', files }] });
  if (found.length > 0)
    context.note(`what is given away looks like a secret: ${saidSecrets(found)}`);
}

/** Returns the names of variables, headers and options that look as if their values were secret. */
function literalsIn(server: McpServer): string[] {
  const texts = 'command' in server ? server.env : server.headers;
  const named = Object.entries(texts)
    .filter(([name, value]) => SECRET_NAME.test(name) && !namesSecret(value))
    .map(([name]) => name);
  const options = 'command' in server ? server.args.filter((one) => one.startsWith('-')) : [];
  const words = options.map((one) => one.split('=', 1).join());
  return [...named, ...words.filter((one) => SECRET_NAME.test(one))];
}
