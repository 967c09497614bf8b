import type { McpServer } from '../files/mcp-servers.ts';
import { TIER_DEFAULTS, type Tier } from '../files/host-file.ts';

/** A value of an option: anything that JSON can represent. */
export type Value =
  string | number | boolean | readonly Value[] | { readonly [name: string]: Value };
/** The options of a thing, named as in the host file. Times are in milliseconds. */
export type ApprovedOptions = Readonly<Record<string, Value>>;

/** Approvals of one actor. */
interface ApprovedActor {
  /** The tier in force when none is requested. */
  default?: string;
  /** For each tier, the command (`cli`) and the options that differ from the defaults. */
  tiers: Record<string, ApprovedOptions>;
  /** Its MCP servers (mcp-servers.ts). */
  mcps?: readonly McpServer[];
}

/** Approvals of one host file on this machine, by actor. */
export type Approved = Record<string, ApprovedActor>;

/** Returns the options of a tier without its name, as approvals store them: default values are left out. */
export function optionsOf(tier: Tier): ApprovedOptions {
  const defaults = wholeOf({ ...TIER_DEFAULTS, name: '', cli: '' });
  return Object.fromEntries(
    Object.entries(wholeOf(tier)).filter(([option, value]) => value !== defaults[option]),
  );
}

/** Returns all options of a tier without its name. */
export function wholeOf(tier: Tier): ApprovedOptions {
  const { cli, sandbox, ...rest } = tier;
  const given = Object.entries<Value | undefined>({
    cli,
    ...rest,
    sandbox: sandbox && { ...sandbox },
  });
  return Object.fromEntries(
    given.flatMap(([key, value]) =>
      key === 'name' || value === undefined
        ? []
        : [[key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]],
    ),
  );
}

/** Returns the approved tier with all options: those that were not recorded have their default values. */
export function tierOf(name: string, options: ApprovedOptions): Tier {
  const recorded = Object.entries(options).map(([key, value]) => [
    key.replace(/_[a-z]/g, (letters) => letters.slice(1).toUpperCase()),
    value,
  ]);
  return { ...TIER_DEFAULTS, ...(Object.fromEntries(recorded) as { cli: string }), name };
}

/** Serializes a value as JSON with the keys of every object sorted, so that equal contents have the same text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** Looks up a name from a file among own properties only: `constructor` is not a tier. */
export function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Returns a copy of the approvals that can be changed without changing the original. */
export function copy(approved: Approved): Approved {
  return plain(
    Object.fromEntries(
      Object.entries(approved).map(([actor, known]) => [
        actor,
        { ...known, tiers: plain(known.tiers) },
      ]),
    ),
  );
}

/** Returns a copy without a prototype, so that no name in it is inherited. */
export function plain<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.assign(Object.create(null) as Record<string, T>, record);
}

/**
 * Returns the approvals with one tier that the operator has just written, with default values for the options
 * that are not named.
 */
export function withTier(
  approved: Approved,
  actor: string,
  tier: string,
  options: ApprovedOptions,
): Approved {
  const result = copy(approved);
  const known = (result[actor] ??= { tiers: plain({}) });
  known.tiers[tier] = { ...options };
  known.default ??= tier;
  return result;
}

/**
 * Returns the approvals without some tiers of an actor, which the operator has just removed. If the default
 * is one of them, the first approved tier that remains becomes the default.
 */
export function withoutTiers(approved: Approved, actor: string, gone: readonly string[]): Approved {
  const { [actor]: known, ...others } = copy(approved);
  if (known === undefined) return approved;
  const left = Object.entries(known.tiers).filter(([name]) => !gone.includes(name));
  const [[first] = []] = left;
  if (first === undefined) return plain(others);
  const { default: before } = known;
  const usual = before === undefined || gone.includes(before) ? first : before;
  return plain({
    ...others,
    [actor]: { ...known, default: usual, tiers: plain(Object.fromEntries(left)) },
  });
}
