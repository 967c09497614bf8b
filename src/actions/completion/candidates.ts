import { MEMORIES, suffixOf } from '../../protocol/layout.ts';
import { readHosts } from '../../bus/host.ts';
import { ScheduleFiles } from '../../bus/automation/schedules.ts';
import { SubscriptionFiles } from '../../bus/automation/subscriptions.ts';
import { formatSource } from '../../protocol/automation/subscription.ts';
import { recipientsOf } from '../../protocol/automation/schedule.ts';
import { isMemoryFile, memorySuffix, parseMemoryFile } from '../../protocol/files/memory.ts';
import { secretsOf } from '../setup/secrets.ts';
import { Worktrees } from '../../state/worktrees.ts';
import { saidSecrets } from '../../protocol/text/secrets.ts';
import { nameText } from '../../protocol/approval/approval.ts';
import { listHeld } from '../health/held-secrets.ts';
import { knownActors } from '../setup/actors.ts';
import { knownSkills } from '../skills/list.ts';
import { knownHost } from '../setup/approvals.ts';
import { type MessageFile, newestFirst } from '../lookup/arrivals.ts';
import { tipOf, withContext, type Context } from '../context.ts';
import type { Surroundings } from '../locate.ts';

/** A candidate for a word of a command line, with its description. */
interface Found {
  value: string;
  description: string;
}

type Lookup = (context: Context, tip: string) => Promise<Found[]>;

const MAX_MESSAGES = 20;
const MAX_MEMORIES = 50;
/** Maximum characters of a message's text, as it has to fit on one line. */
const MAX_EXCERPT = 200;

const LOOKUPS = {
  actors: async (context) =>
    (await knownActors(context)).map(({ name, description }) => ({ value: name, description })),
  addresses: async (context) => {
    const actors = await knownActors(context);
    return [
      ...actors.map(({ name, description }) => ({ value: name, description })),
      ...actors.flatMap(({ name, hosts }) =>
        hosts.map(({ alias }) => ({
          value: `${name}@${alias}`,
          description: `${name} on ${alias}`,
        })),
      ),
    ];
  },
  channels,
  scopes: channels,
  deadLetters: async ({ deadLetters }) =>
    (await deadLetters.all()).map(({ id, actor, state, detail }) => ({
      value: id,
      description: `${state} ${actor}: ${detail}`,
    })),
  heldSecrets: async (context) =>
    (await listHeld(context)).map(({ id, what, found }) => ({
      value: id,
      description: `${what}: ${saidSecrets(found)}`,
    })),
  // The line is too short for a decision about a change; `host show` prints the complete change.
  held: async (context) =>
    (await knownHost(context, undefined)).held
      .filter(({ refused }) => refused === undefined)
      .map(({ digest, name, changes }) => ({
        value: digest,
        description: `${nameText(name)}: ${changes.map(({ option }) => nameText(option)).join(', ')}`,
      })),
  schedules: async ({ transport }, tip) =>
    (await new ScheduleFiles(transport).at(tip)).files.map(({ name, result }) => ({
      value: name,
      description: result.ok ? recipientsOf(result.value) : 'cannot be read',
    })),
  subscriptions: async ({ transport }, tip) =>
    (await new SubscriptionFiles(transport).at(tip)).files.map(({ name, result }) => ({
      value: name,
      description: result.ok ? formatSource(result.value.source) : 'cannot be read',
    })),
  secrets: async (context) =>
    (await secretsOf(context).names()).map((name) => ({ value: name, description: '' })),
  hosts: async ({ transport }, tip) =>
    (await readHosts(transport, tip)).flatMap(({ result }) =>
      result.ok
        ? [{ value: result.value.alias, description: [...result.value.actors.keys()].join(', ') }]
        : [],
    ),
  tiers: async (context) => {
    const tiers = new Map<string, Set<string>>();
    for (const { name, hosts } of await knownActors(context))
      for (const tier of hosts.flatMap((host) => host.tiers))
        tiers.set(tier, (tiers.get(tier) ?? new Set()).add(name));
    return [...tiers].map(([value, of]) => ({ value, description: [...of].join(', ') }));
  },
  worktrees: async ({ paths }) =>
    (await new Worktrees(paths.worktrees).all()).map(({ id, record: { actor, source } }) => ({
      value: id,
      description: `${actor} in ${source}`,
    })),
  memories,
  skills: async (context) =>
    (await knownSkills(context)).map(({ name, description }) => ({ value: name, description })),
  messages,
  watched: async (context, tip) => [
    ...[...((await knownHost(context, undefined)).host?.inForce.keys() ?? [])].map((value) => ({
      value,
      description: 'its runs on this machine',
    })),
    ...(await messages(context, tip)),
  ],
} satisfies Record<string, Lookup>;

/**
 * Returns values that a word of a command line can have, from the local state: this asks neither the remote nor the
 * search index, and prints nothing.
 *
 * @param transport the value of `--transport`
 * @throws CrosstalkError when there is no transport, or it cannot be read
 */
export function liveCandidates(
  { env, cwd }: Surroundings,
  transport: string | undefined,
  kind: keyof typeof LOOKUPS,
): Promise<Found[]> {
  // Otherwise a partial clone would fetch missing objects; the second variable is for older
  // versions of git.
  const offline = { ...env, GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' };
  return withContext(
    { env: offline, cwd },
    {
      note: () => undefined,
      // With a check of the version, an unsupported one would lead to a fetch.
      anyVersion: true,
      ...(transport !== undefined && { transport }),
    },
    async (context) => LOOKUPS[kind](context, await tipOf(context)),
  );
}

/** Lists channels by name; by id if several channels share a name, or if it could be taken for an option. */
async function channels({ reader }: Context, tip: string): Promise<Found[]> {
  const all = (await reader.channels(tip)).filter(({ archived }) => archived !== true);
  const isPlain = (name: string): boolean =>
    !name.startsWith('-') && all.filter((one) => one.name === name).length === 1;
  return all
    .map(({ id, name, body }) =>
      isPlain(name) ? { value: name, description: body } : { value: id, description: name },
    )
    .sort((a, b) => a.value.localeCompare(b.value));
}

async function memories({ transport }: Context, tip: string): Promise<Found[]> {
  const entries = (await transport.list(tip, [MEMORIES]))
    .map(({ path, oid }) => ({ file: path.slice(MEMORIES.length + 1), oid }))
    .filter(({ file }) => isMemoryFile(file))
    .sort((a, b) => (a.file < b.file ? 1 : -1));
  return Promise.all(
    entries.slice(0, MAX_MEMORIES).map(async ({ file, oid }) => {
      const object = await transport.objects.read(oid);
      const parsed = object?.content === undefined ? undefined : parseMemoryFile(object.content);
      return {
        value: memorySuffix(file),
        description: parsed?.ok === true ? parsed.value.subject : file,
      };
    }),
  );
}

async function messages(context: Context, tip: string): Promise<Found[]> {
  const ids = (await context.reader.channels(tip)).map(({ id }) => id);
  const newest: MessageFile[] = [];
  for await (const files of newestFirst(context, tip, ids, '')) {
    newest.push(...files);
    if (newest.length >= MAX_MESSAGES) break;
  }
  return Promise.all(
    newest.slice(0, MAX_MESSAGES).map(async ({ channel, relPath }) => {
      const message = await context.reader.message(tip, channel, relPath);
      return {
        value: suffixOf(relPath),
        description:
          message === undefined
            ? relPath
            : `${message.from}: ${message.body.trim().slice(0, MAX_EXCERPT)}`,
      };
    }),
  );
}
