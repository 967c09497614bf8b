import { parseDocumentText } from '../text/frontmatter.ts';
import {
  tierBudgets,
  type TierBudgets,
  tierOnlyFrom,
  type TierOnlyFrom,
  TIER_OPTIONS,
  tierWorktree,
  type TierWorktree,
  tierSession,
  type TierSession,
} from './tier-options.ts';
import { tierFallback, unknownFallbacks, type TierFallback } from './tier-fallback.ts';
import {
  actorsAsGates,
  tierGate,
  ungatedFallbacks,
  type TierGate,
  actorsAsked,
  tierPermit,
  type TierPermit,
} from './tier-gate.ts';
import { tierSandbox, type TierSandbox, isWorkdir } from './tier-sandbox.ts';
import { isTier } from '../message.ts';
import { EVERYONE } from '../address.ts';
import { isName } from '../layout.ts';
import { MAX_MS, parseDuration } from '../text/times.ts';
import { didYouMean } from '../text/nearest.ts';
import { parsed, shown, unreadable, type Parsed, wholeIn } from '../text/result.ts';

/** A named slot for an actor's CLI (protocol.md §6). Times are in milliseconds. */
export interface Tier
  extends
    TierBudgets,
    TierFallback,
    TierWorktree,
    TierSandbox,
    TierOnlyFrom,
    TierGate,
    TierPermit,
    TierSession {
  name: string;
  /** Run by `/bin/sh -c`; the prompt is passed on stdin. */
  cli: string;
  /** Working folder, absolute or beginning with `~/`; if absent, a workspace (trust.md §1). */
  workdir?: string;
  /** Most concurrent runs. */
  count: number;
  timeout: number;
  /** Number of runs before a delivery is quarantined. */
  attempts: number;
  /** The wait before the first retry; each further wait is four times as long. */
  retryDelay: number;
  /** Most runs in any hour; messages beyond them wait. */
  maxRunsPerHour: number;
  /** Most messages from the first question of a thread to a delivery. */
  maxDepth: number;
}

export interface HostFile {
  alias: string;
  hostname?: string;
  /** Tiers by actor name; the first declared is the default. */
  actors: Map<string, Tier[]>;
  /** One line for each unknown key, such as a misspelt one. */
  unknown: string[];
  /** The body: notes for people. */
  body: string;
}

/** Values of the options that a tier does not set. Times are in milliseconds. */
export const TIER_DEFAULTS = {
  count: 1,
  timeout: 600_000,
  attempts: 3,
  retryDelay: 2_000,
  maxRunsPerHour: 600,
  maxDepth: 40,
};

/** Parses `hosts/<alias>.md`, or returns every problem found in it. */
export function parseHostFile(text: string): Parsed<HostFile> {
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const { alias, hostname, actors } = document.value.fields;
  const problems: string[] = [];
  if (!isName(alias)) problems.push(field('alias', alias, 'a name'));
  if (hostname !== undefined && typeof hostname !== 'string') {
    problems.push(field('hostname', hostname, 'the name the operating system gives this machine'));
  }
  const tiers = parseActors(actors, problems);
  if (problems.length > 0) return unreadable(...problems);
  return parsed({
    alias: alias as string,
    ...(typeof hostname === 'string' && hostname !== '' ? { hostname } : {}),
    actors: tiers,
    unknown: unknownKeys(document.value.fields),
    body: document.value.body,
  });
}

function parseActors(value: unknown, problems: string[]): Map<string, Tier[]> {
  const actors = new Map<string, Tier[]>();
  if (!isMapping(value)) {
    problems.push(field('actors', value, 'a mapping of actor to tiers'));
    return actors;
  }
  for (const [name, declared] of Object.entries(value)) {
    if (!isName(name)) problems.push(`actors: ${shown(name)} is not a name`);
    else if (name === EVERYONE)
      problems.push(`actors: ${name} means everybody, and no actor can have that name`);
    else if (!isMapping(declared) || Object.keys(declared).length === 0) {
      problems.push(
        field(`actors.${name}`, declared, 'at least one tier, as in "default: my-cli"'),
      );
    } else {
      const tiers = Object.entries(declared).map(([tier, slot]) =>
        parseTier(name, tier, slot, problems),
      );
      problems.push(...unknownFallbacks(name, tiers), ...ungatedFallbacks(name, tiers));
      actors.set(name, tiers);
    }
  }
  problems.push(...actorsAsGates(actors), ...actorsAsked(actors));
  return actors;
}

function parseTier(actor: string, name: string, slot: unknown, problems: string[]): Tier {
  const where = `actors.${actor}.${name}`;
  const options = isMapping(slot) ? slot : { cli: slot };
  const { cli, workdir, count, timeout, attempts, retry_delay: retryDelay } = options;
  const { max_runs_per_hour: maxRuns, max_depth: maxDepth } = options;
  if (!isTier(name)) problems.push(`${where}: ${shown(name)} is not a tier name`);
  if (typeof cli !== 'string' || cli.trim() === '') {
    problems.push(field(`${where}.cli`, cli, 'a command line'));
  }
  if (workdir !== undefined && !isWorkdir(workdir)) {
    problems.push(
      field(`${where}.workdir`, workdir, 'a folder, absolute or below ~, such as ~/src/app'),
    );
  }
  const number = (key: string, value: unknown, fallback: number): number => {
    if (value === undefined) return fallback;
    const result = wholeIn(value, 100_000);
    if (result !== undefined) return result;
    problems.push(field(`${where}.${key}`, value, 'a whole number from 1 to 100000'));
    return fallback;
  };
  const duration = (key: string, value: unknown, fallback: number): number => {
    if (value === undefined) return fallback;
    const result = typeof value === 'string' ? parseDuration(value.trim()) : undefined;
    if (result !== undefined && result > 0 && result <= MAX_MS) return result;
    problems.push(
      field(`${where}.${key}`, value, 'a duration such as 90, 90s, 10m or 2h, at most 24 days'),
    );
    return fallback;
  };
  return {
    name,
    cli: String(cli),
    ...(isWorkdir(workdir) && { workdir }),
    count: number('count', count, TIER_DEFAULTS.count),
    timeout: duration('timeout', timeout, TIER_DEFAULTS.timeout),
    attempts: number('attempts', attempts, TIER_DEFAULTS.attempts),
    retryDelay: duration('retry_delay', retryDelay, TIER_DEFAULTS.retryDelay),
    maxRunsPerHour: number('max_runs_per_hour', maxRuns, TIER_DEFAULTS.maxRunsPerHour),
    maxDepth: number('max_depth', maxDepth, TIER_DEFAULTS.maxDepth),
    ...tierBudgets(where, options, problems),
    ...tierFallback(where, options, problems),
    ...tierWorktree(where, options, problems),
    ...tierSandbox(where, options, problems),
    ...tierOnlyFrom(where, options, problems),
    ...tierGate(where, options, problems),
    ...tierPermit(where, options, problems),
    ...tierSession(where, options, problems),
  };
}

/** The keys of a host file. */
const FILE_KEYS = ['alias', 'hostname', 'actors'];
/** Most unknown keys that are listed. */
const MAX_UNKNOWN = 20;

/**
 * Finds the unknown keys. Beside the actors a file may contain any other information, so there only a key
 * that is similar to one of ours is listed.
 */
function unknownKeys(fields: Record<string, unknown>): string[] {
  const found: string[] = [];
  const look = (where: string, key: string, known: readonly string[]): void => {
    const meant = didYouMean(key, known);
    if (known.includes(key) || (where === '' && meant === '')) return;
    found.push(`${shown(`${where}${key}`)} is unknown and has no effect${meant}`);
  };
  for (const key of Object.keys(fields)) look('', key, FILE_KEYS);
  const { actors } = fields;
  for (const [actor, tiers] of Object.entries(isMapping(actors) ? actors : {}))
    for (const [tier, options] of Object.entries(isMapping(tiers) ? tiers : {}))
      for (const key of Object.keys(isMapping(options) ? options : {}))
        look(`actors.${actor}.${tier}.`, key, TIER_OPTIONS);
  const more = found.length - MAX_UNKNOWN;
  if (more <= 0) return found;
  return [...found.slice(0, MAX_UNKNOWN), `and ${String(more)} more unknown keys`];
}

/** Selects the tier in which a batch runs: the newest message that names a declared tier decides (protocol.md §6). */
export function chooseTier(
  tiers: readonly Tier[],
  requested: readonly (string | undefined)[],
): Tier | undefined {
  for (const name of [...requested].reverse()) {
    const tier = tiers.find((candidate) => candidate.name === name);
    if (tier !== undefined) return tier;
  }
  return tiers[0];
}

function field(name: string, value: unknown, expected: string): string {
  return value === undefined
    ? `${name} is missing`
    : `${name} is ${shown(value)}, expected ${expected}`;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
