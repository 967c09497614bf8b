import type { OutputNote } from '../../agents/output/plain-call.ts';
import type { WebFinding, WebTool, WebHostWord, WebMachine, WebUnserved } from '../../api/now.ts';
import type { HeldChange } from '../../protocol/approval/approval.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import type { OpenPermission } from '../../state/permissions/open-permissions.ts';
import type { Headroom } from '../../state/remote-budget.ts';
import type { Pause } from '../../state/holds.ts';
import type { GatedMail } from '../../present/holds.ts';
import type { WarmSession } from './warm-sessions.ts';
import type { HeldAgent } from './held-agents.ts';
import type { HeldSecret } from './held-secrets.ts';
import { AgentSessions } from '../../state/sessions/agent-sessions.ts';
import type { Context } from '../context.ts';
import { profileInForce, type ProfileSeen } from '../../bus/profiles.ts';

export interface HostStatus {
  alias: string;
  path: string;
  /** Paths of other files that claim to be this machine's; they have no effect. */
  others: string[];
  actors: {
    name: string;
    tiers: {
      name: string;
      cli: string;
      count: number;
      output: OutputNote | null;
      /** The tiers that take its mail when it cannot. */
      fallback?: readonly string[];
    }[];
    /** Its MCP servers; absent where it has none, and in a run. */
    tools?: WebTool[];
  }[];
  held: HeldChange[];
  /** One line for each key of the host file that means nothing here, such as a misspelt one. */
  unknown: string[];
}

/** Mail for somebody. */
export interface InboxStatus {
  name: string;
  unread: number;
  questions: number;
  /** The newest questions. */
  asking: {
    channel: string;
    relPath: string;
    from: string;
    timestamp: string;
    /** Whether it asks for a decision. */
    proposal: boolean;
    /** Beginning of its text. */
    excerpt: string;
  }[];
}

/** Everything `crosstalk status` shows; the names are those of `--json` and of the log. */
export interface Status {
  transport: string;
  origin: boolean;
  branch: string;
  /** Full name of the remote's ref of the bus, if that is not a branch. */
  ref?: string;
  tip: string;
  state_dir: string;
  /** Set while this program does not support the transport's version. */
  version_problem: string | null;
  health: { ok: boolean; problems: string[] };
  /** The same problems, each with who ends it: time alone, or somebody with a command. */
  findings: WebFinding[];
  /** Findings that keep no mail from moving, and that somebody has to look at all the same. */
  warnings: string[];
  /** Set by `crosstalk pause`. */
  paused: Pause | null;
  /** Agent CLIs that refuse to work at the moment: rate limited, or not logged in. */
  holds: HeldAgent[];
  host: HostStatus | null;
  host_problem: string | null;
  /** Profiles of actors that cannot be read, with the text in force instead. */
  profile_problems: string[];
  /** The actors' profiles that came, or were changed by others, in the last days. */
  profile_changes: ProfileChange[];
  /** Tiers whose mail waits: by the dispatcher's report, or while none runs, for a budget by the records. */
  parked: Heartbeat['parked'];
  /** Names that were written to in the last days although nobody serves them. */
  unserved: WebUnserved[];
  /** Unanswered questions to the viewer; null in a run, and where nobody is named. */
  inbox: InboxStatus | null;
  /** Questions of runs on this machine that wait for permission. */
  permissions: OpenPermission[];
  /** Mail that waits for somebody to decide on a plan. */
  gated: GatedMail[];
  /** Sessions of agent CLIs with which runs go on. */
  sessions: KeptSessions[];
  /** Processes of agent CLIs that are pooled between runs. */
  warm: WarmSession[];
  /** Everything that waits for `crosstalk host approve`, of the host file and of git settings. */
  held: HeldChange[];
  /** Other machines, by the reports of the bell. */
  machines?: WebMachine[];
  /** Every host of the transport, by its own word; only with `--all`. */
  hosts?: WebHostWord[];
  /** Null when no dispatcher runs on this machine; `age_s` is the age of its heartbeat. */
  dispatcher: (Heartbeat & { age_s: number }) | null;
  channels: {
    id: string;
    name: string;
    parent: string | null;
    messages: number;
    last: string | null;
  }[];
  cursors: { actor: string; through: string; lagging: { channel: string; commit: string }[] }[];
  outbox: { id: string; age_s: number; files: string[] }[];
  /** The process that is pushing at the moment, and since when: ISO 8601 in UTC; null where none is. */
  pushing: { pid: number; since: string } | null;
  /** Entries that cannot be published as they are, and why; times are ISO 8601 in UTC. */
  set_aside: { id: string; at: string; reason: string; files: string[] }[];
  /** Entries that are not pushed because some text in them looks like a secret, which is not shown. */
  held_secrets: HeldSecret[];
  dead_letters: Pick<
    DeadLetter,
    | 'id'
    | 'state'
    | 'actor'
    | 'channel'
    | 'messages'
    | 'reason'
    | 'detail'
    | 'attempts'
    | 'next_retry_at'
  >[];
  /** Null when the remote has no limit. */
  push_budget: Headroom | null;
  /** The first malformed files in the order of their paths. */
  malformed: { path: string; reason: string }[];
  malformed_total: number;
  broken_state_files: string[];
  /** Paths of locks that a killed git left in the clone. */
  stale_locks: string[];
}

/** Facts about the bus and this machine, before they are judged. */
export type Facts = Omit<Status, 'health' | 'findings' | 'warnings'>;

/** The sessions of agent CLIs with which runs of an actor go on, together. */
interface KeptSessions {
  actor: string;
  tier: string;
  /** The CLI. */
  agent: string;
  /** Of how many threads. */
  threads: number;
  /** When the last run in one of them ended, ISO 8601 UTC. */
  used: string;
}

/** Returns the sessions of this machine by actor, tier and CLI; none where no tier keeps any. */
export async function keptSessions({ paths }: Context): Promise<KeptSessions[]> {
  const found = new Map<string, KeptSessions>();
  // A run may not look into the state of its machine.
  const all = await new AgentSessions(paths.root).all().catch(() => []);
  for (const { actor, tier, agent, used } of all) {
    const key = [actor, tier, agent].join('\0');
    const { threads = 0, used: last = used } = found.get(key) ?? {};
    const latest = last > used ? last : used;
    found.set(key, { actor, tier, agent, threads: threads + 1, used: latest });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** A profile that came, or was changed, while this machine knew the actor already. */
interface ProfileChange extends ProfileSeen {
  actor: string;
  path: string;
}

/** Milliseconds for which a change is shown. */
const NEWS_MS = 7 * 86_400_000;

/** Returns the findings on the profiles of some actors at a commit. */
export async function lookAtProfiles(
  context: Context,
  tip: string,
  actors: readonly string[],
): Promise<{ problems: string[]; changes: ProfileChange[] }> {
  const since = new Date(context.now().getTime() - NEWS_MS).toISOString();
  const found = await Promise.all(actors.map((actor) => profileInForce(context, tip, actor)));
  return {
    problems: found.flatMap(({ problem }) => problem ?? []),
    changes: found.flatMap(({ profile, seen }, at) =>
      profile === undefined || seen === undefined || seen.at < since
        ? []
        : [{ actor: actors[at] ?? '', path: profile.path, ...seen }],
    ),
  };
}
