import { KNOWN_AGENTS } from '../../agents/agents.ts';
import { COST_BY } from '../../actions/reading/cost-by.ts';
import { MEMORY_KINDS } from '../../protocol/files/memory.ts';
import { CLIENT_NAMES } from '../command/mcp-clients.ts';
import { SHELLS } from './scripts.ts';

/** A candidate for completing a word. */
export interface Candidate {
  value: string;
  /** For people; may be empty. */
  description: string;
}

/** Values that are looked up in the transport or on this machine. */
type Live =
  | 'actors'
  | 'addresses'
  | 'channels'
  | 'deadLetters'
  | 'held'
  | 'heldSecrets'
  | 'hosts'
  | 'memories'
  | 'messages'
  | 'scopes'
  | 'skills'
  | 'tiers'
  | 'watched'
  | 'schedules'
  | 'secrets'
  | 'subscriptions'
  | 'worktrees';

/** Sources of the candidates for the last word, and the way to insert them into it. */
export interface CompletionPlan {
  source:
    | { kind: 'fixed'; candidates: readonly Candidate[] }
    | { kind: 'live'; of: Live; also: readonly Candidate[] }
    | { kind: 'files' | 'folders' };
  /** The part of the last word before the value, which stays: `--to=`, or names and a comma. */
  before: string;
  /** The typed beginning of the value. */
  typed: string;
  /** Values that the list already contains. */
  taken: readonly string[];
  /** The value of `--transport`. */
  transport?: string;
}

export type Source = CompletionPlan['source'];

export const NOTHING: Source = { kind: 'fixed', candidates: [] };

/**
 * The kind of value of each option, by the option's name; the last ones are shared by several commands. Values that
 * differ for one command are under its name too.
 */
export const OPTION_VALUES: Readonly<Record<string, Source>> = {
  '--to': live('addresses'),
  '--from': live('actors'),
  '--actor': live('actors'),
  '--for': live('actors'),
  '--about': live('messages'),
  '--channel': live('channels'),
  '--parent': live('channels'),
  '--scope': live('scopes', ['global', 'for every channel']),
  '--host': live('hosts'),
  '--tier': live('tiers'),
  '--re': live('messages'),
  '--show': live('deadLetters'),
  '--retry': live('deadLetters', ['all', 'every dead letter']),
  '--drop': live('deadLetters', ['all', 'every dead letter']),
  '--allow-secret': live('heldSecrets', ['all', 'everything that is held']),
  'outbox --drop': live('heldSecrets', ['all', 'everything that is held']),
  '--supersedes': live('memories'),
  '--kind': fixed(MEMORY_KINDS),
  'compact --by': live('actors'),
  'cost --by': fixed(COST_BY),
  '--file': { kind: 'files' },
  '--attach': { kind: 'files' },
  '--schema': { kind: 'files' },
  '--files': { kind: 'folders' },
  '--log': { kind: 'files' },
  '--bundle': { kind: 'files' },
  '--restore': { kind: 'files' },
  '--level': fixed(['debug', 'info', 'warn', 'error']),
  '--transport': { kind: 'folders' },
  '--workdir': { kind: 'folders' },
  '--worktree': { kind: 'folders' },
  '--cli': fixed(KNOWN_AGENTS.map(({ name }) => name)),
  '--install': fixed(CLIENT_NAMES),
  '--agent': fixed(KNOWN_AGENTS.map(({ name }) => name)),
};

/** The kind of value of each argument, by its name in the table. */
export const ARGUMENTS: Readonly<Record<string, Source>> = {
  channel: live('channels'),
  message: live('messages'),
  messages: live('messages'),
  note: live('memories'),
  actor: live('actors'),
  actormessage: live('watched'),
  digest: live('held'),
  skill: live('skills'),
  worktree: live('worktrees'),
  schedule: live('schedules'),
  secret: live('secrets'),
  subscription: live('subscriptions'),
  agents: fixed(KNOWN_AGENTS.map(({ name }) => name)),
  dir: { kind: 'folders' },
  file: { kind: 'files' },
  key: { kind: 'files' },
  shell: fixed(SHELLS),
  addlistremove: fixed(['add', 'list', 'remove']),
};

export function live(of: Live, ...also: (readonly [value: string, description: string])[]): Source {
  return { kind: 'live', of, also: also.map(([value, description]) => ({ value, description })) };
}

function fixed(values: readonly string[]): Source {
  return { kind: 'fixed', candidates: values.map((value) => ({ value, description: '' })) };
}
