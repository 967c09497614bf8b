import type { DispatcherApp } from '../../bus/app.ts';
import { createHash } from 'node:crypto';
import type { SessionCall } from '../../agents/sessions/sessions-of.ts';
import { SESSION_MAX_TURNS, type SessionKind } from '../../protocol/files/tier-options.ts';
import {
  messageKey,
  type MessageRef,
  placeOfRef,
  refFrom,
  PROTOCOL_FILE,
} from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import type { Lookup } from '../../protocol/causality.ts';
import { threadOf } from '../../protocol/thread.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import type { AgentSession } from '../../state/sessions/agent-sessions.ts';
import type { ServersOfRun } from '../staging/mcp-servers.ts';
import { usageSince, type Candidate, type Sessions } from './sessions.ts';
import type { SessionStore } from './store.ts';
import type { PooledProcess } from './pooled-process.ts';
import { profileInForce } from '../../bus/profiles.ts';
import { canonical, wholeOf } from '../../protocol/approval/record.ts';
import type { Tier } from '../../protocol/files/host-file.ts';

/** One run of a session: its command, and the facts that it knows already. */
export interface Turn {
  kind: SessionKind;
  /** Command line that starts the session, or continues it. */
  command: string;
  /** Whether the session was shown a message, or has written it; by its name in the channel of the job. */
  knows: (ref: string) => boolean;
  /** The last message that it was given; absent in its first run. */
  last?: string;
  /** Whether the session has not received something before, or received another value; remembers it. */
  isNews: (what: string, value: unknown) => boolean;
  /** Usage of the session before, if its CLI states only the total. */
  before?: Usage;
  /** Its process, if that is pooled for the next run. */
  kept?: PooledProcess;
}

/** Ways to start and to continue the sessions of a CLI. */
export type Call = Pick<SessionCall, 'agent' | 'isGiven' | 'first' | 'next' | 'isId'> & {
  /** Usage that it states for the whole session, and not for the run. */
  sums: boolean | 'money';
};

/** Dependencies of the session of a run. */
export interface TurnApp extends Pick<
  DispatcherApp,
  'transport' | 'reader' | 'paths' | 'now' | 'runs' | 'log' | 'uuid'
> {
  sessions: Sessions;
}

/** Run that may have a session; `plans`: it has none, as nobody has approved yet what it may know. */
export type SessionJob = RunOfSession & { plans?: boolean };

/** Facts about a run that decide about its session. */
export interface About {
  briefing: { batch: readonly Located[]; channel: readonly Located[]; lookup: Lookup };
  /** The first message of its thread. */
  root: MessageRef;
  dir: string;
  tools: ServersOfRun;
}

/** Session of one run, from its start to its end. */
export class SessionOfRun {
  readonly #app: TurnApp;
  readonly #job: SessionJob;
  readonly #about: About;
  readonly #call: Call;
  readonly #made: string;
  readonly #store: SessionStore;
  #id = '';
  #told: Record<string, string> = {};

  constructor(
    app: TurnApp,
    job: SessionJob,
    about: About,
    { call, made, store }: { call: Call; made: string; store: SessionStore },
  ) {
    this.#app = app;
    this.#job = job;
    this.#about = about;
    this.#call = call;
    this.#made = made;
    this.#store = store;
  }

  mayGoOn({ agent, session, made, turns }: AgentSession): boolean {
    const most = this.#job.tier.sessionMaxTurns ?? SESSION_MAX_TURNS;
    const isSame = agent === this.#call.agent && made === this.#made;
    return isSame && turns < most && this.#call.isId(session);
  }

  goOn(
    { session, known, told, last, total }: AgentSession,
    kind: 'resumed' | 'warm' = 'resumed',
  ): Turn {
    this.#id = session;
    this.#told = { ...told };
    const all = new Set(known);
    return {
      kind,
      command: this.#call.next(session),
      knows: (ref) => all.has(this.#key(ref)),
      last: this.#ref(last),
      isNews: this.#isNews,
      ...(this.#call.sums !== false && total && { before: total }),
    };
  }

  /** @param id that of the session, if it is known already */
  begin(id?: string): Turn {
    this.#id = id ?? (this.#call.isGiven ? this.#app.uuid() : '');
    this.#told = {};
    return {
      kind: 'fresh',
      command: this.#call.first(this.#id),
      knows: () => false,
      isNews: this.#isNews,
    };
  }

  /** Returns the usage of the run, and what the session knows if it succeeds. */
  async ended(
    { kind }: Turn,
    result: InvocationResult,
    before: AgentSession | undefined,
  ): Promise<InvocationResult> {
    const { actor, tier, id } = this.#job;
    const { root } = this.#about;
    const owner = { actor, channel: root.channel, root: root.relPath };
    const session = this.#call.isGiven || before ? this.#id : (result.session ?? '');
    const candidate: Candidate = { owner, store: this.#store };
    const { usage: total, context } = result;
    const { sums } = this.#call;
    const usage = sums !== false && total !== undefined ? usageSince(total, before?.total) : total;
    const sum = sums === 'money' ? moneyOf(total, before?.total) : total;
    // A CLI that states another id, or a usage less than before, has another session than the one it was to continue,
    // as after a restored disk.
    const isOther = total !== undefined && usage === undefined;
    const isElsewhere = before && result.session !== undefined && result.session !== session;
    if (this.#call.isId(session) && !isOther && isElsewhere !== true)
      candidate.session = {
        ...owner,
        ...{ agent: this.#call.agent, session, tier: tier.name, made: this.#made },
        turns: (before?.turns ?? 0) + 1,
        known: [...new Set([...(before?.known ?? []), ...(await this.#shown())])],
        last: this.#key(this.#about.briefing.batch.at(-1)?.relPath ?? ''),
        told: this.#told,
        ...(sums !== false && sum && { total: sum }),
        ...(context && { context }),
      };
    this.#app.sessions.note(id, candidate);
    return { ...result, ...((usage ?? total) && { usage: usage ?? total }), sessionKind: kind };
  }

  /** Returns the messages that the run was shown, or whose omission it was shown, and those that it has sent. */
  async #shown(): Promise<string[]> {
    const { batch, channel, lookup } = this.#about.briefing;
    const thread: Located[] = [...threadOf(batch, this.#job.actor, channel, lookup), ...batch];
    const sent = await this.#app.runs.sent(this.#job.id);
    return [
      ...thread.map(({ relPath }) => this.#key(relPath)),
      ...sent.map(([where, { relPath }]) => messageKey({ channel: where, relPath })),
    ];
  }

  readonly #isNews = (what: string, value: unknown): boolean => {
    const digest = digestOf(value ?? null);
    if (this.#told[what] === digest) return false;
    this.#told[what] = digest;
    return true;
  };

  /** Returns a key as a name in the channel of the job. */
  #ref(key: string): string {
    const { channel, relPath } = placeOfRef('', key);
    return refFrom(this.#job.channel, channel, relPath);
  }

  #key(ref: string): string {
    return messageKey(placeOfRef(this.#job.channel, ref));
  }
}

/** Returns the cost of a session, as usage of which only money counts. */
function moneyOf(total: Usage | undefined, before: Usage | undefined): Usage | undefined {
  const usd = total?.usd ?? before?.usd;
  return usd === undefined ? undefined : { input: 0, cached: 0, output: 0, usd };
}

/** Folders of skills, of which a session may have received any. */
const SKILLS = ['upstream/skills', 'local/skills'];

/** A run, as far as its session goes. */
interface RunOfSession {
  /** The dispatch id. */
  id: string;
  actor: string;
  channel: string;
  tier: Tier;
  /** The commit at which its batch is read. */
  tip: string;
}

/**
 * Returns a digest of all that ends a session when it changes (warm.md): the tier as it is approved, with its
 * command; the tools that are approved, and the secrets in them, since a tool's earlier output is removed from the
 * answers of later runs by the current value of its secrets; the profile, the channel's text, the protocol and the
 * skills; and the folder in which the CLI works, by which some keep their sessions.
 *
 * @param dir the folder
 */
export async function madeOf(
  app: TurnApp,
  { tier, tip, actor, channel }: RunOfSession,
  { dir, tools }: { dir: string; tools: ServersOfRun },
): Promise<string> {
  const { reader, transport } = app;
  const [protocol, { profile }, about, folders] = await Promise.all([
    reader.text(tip, PROTOCOL_FILE),
    profileInForce(app, tip, actor),
    reader.channel(tip, channel),
    transport.list(tip, ['upstream', 'local']),
  ]);
  const skills = folders
    .filter(({ path }) => SKILLS.includes(path))
    .map(({ path, oid }) => [path, oid]);
  const whole = [
    ...[tier.name, wholeOf(tier), dir, protocol ?? null, profile ?? null],
    ...[
      about.id,
      about.name,
      about.body,
      skills.sort(),
      tools.servers.map(({ named }) => named),
      [...tools.secrets],
    ],
  ];
  return digestOf(whole);
}

/** Returns a digest of a value that JSON can represent. */
function digestOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 32);
}
