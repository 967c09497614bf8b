import {
  canonical,
  copy,
  optionsOf,
  own,
  plain,
  tierOf,
  wholeOf,
  type Approved,
  type ApprovedOptions,
  type Value,
} from './record.ts';
import type { HostFile, Tier } from '../files/host-file.ts';
import { shownServers } from '../text/bell-servers.ts';
import { durationText } from '../text/times.ts';
import { asAscii, asAsciiJson } from '../text/quoted.ts';

/**
 * Kind of a thing that an operator approves on this machine, as a whole or not at all (trust.md §2): `tier`, a command
 * with everything that affects how it runs; `default`, the tier in which an actor runs when none is requested;
 * `setting`, a value of the clone's git configuration; `mcps`, the MCP servers of an actor (mcp-servers.ts); `serve`,
 * that each host runs the tasks of an actor of which one host took each.
 */
type ThingKind = 'tier' | 'default' | 'setting' | 'mcps' | 'serve';

/** A change that this machine has not approved (protocol.md §6). */
export interface HeldChange {
  /** 12 hex digits that identify exactly the proposed content. */
  digest: string;
  kind: ThingKind;
  /** `actor.tier`, `actor.mcps`, `actor.serve`, the actor, or the setting's name. */
  name: string;
  actor?: string;
  tier?: string;
  /** The command, tier or setting in force; absent when there is none. */
  approved?: string;
  /** Absent for a setting that was removed. */
  proposed?: string;
  /** Every option that differs; a value is absent where the option is not set. */
  changes: { option: string; approved?: Value; proposed?: Value }[];
  /** Reason why it cannot be approved, and what to do instead. */
  refused?: string;
  /** The commit that introduced it, with its author and time as the commit states them; absent if unknown. */
  pushed?: { by: string; at: string; commit: string };
}

const DIGEST_LENGTH = 12;

/** SHA-256 of a text in hex; passed as an argument because the protocol code is pure. */
export type Hash = (text: string) => string;
/** Returns the reason why a tier may never run, or undefined. */
export type TierRefusal = (tier: Tier) => string | undefined;

/** A setting that differs from its recorded value. */
export interface ChangedSetting {
  name: string;
  recorded?: readonly string[];
  proposed?: readonly string[];
}

/**
 * Splits a host file into the part that this machine runs and the held changes: what is approved stays in
 * force as a whole, the rest waits. An actor without an approved tier keeps an empty list, so that its
 * messages wait and are not lost. A tier that was removed is no longer served, unless it is the default one,
 * which stays until another tier is approved as the default.
 */
export function inForce(
  host: HostFile,
  approved: Approved,
  hash: Hash,
  refusal: TierRefusal = () => undefined,
): { host: HostFile; held: HeldChange[] } {
  const held: HeldChange[] = [];
  const actors = new Map<string, Tier[]>();
  for (const [actor, tiers] of host.actors) {
    const known = own(approved, actor);
    const run = (name: string): Tier | undefined => {
      const options = known && own(known.tiers, name);
      const tier = options && tierOf(name, options);
      return tier === undefined || refusal(tier) !== undefined ? undefined : tier;
    };
    const running = tiers.flatMap(({ name }) => run(name) ?? []);
    for (const tier of tiers) {
      const before = run(tier.name);
      if (before === undefined || canonical(wholeOf(before)) !== canonical(wholeOf(tier)))
        held.push(changedTier(hash, actor, tier, before, refusal(tier)));
    }
    const first = known?.default;
    const declared = tiers[0]?.name;
    if (first !== undefined && declared !== undefined && first !== declared) {
      held.push(changedDefault(hash, actor, first, declared));
      const stays = run(first);
      const others = running.filter(({ name }) => name !== first);
      actors.set(actor, stays === undefined ? running : [stays, ...others]);
    } else actors.set(actor, running);
  }
  return { host: { ...host, actors }, held };
}

/** Converts settings that differ from their recorded values into held changes. */
export function heldSettings(changed: readonly ChangedSetting[], hash: Hash): HeldChange[] {
  return changed.map(({ name, recorded, proposed }) => {
    const plain = (value: string): string =>
      name === 'crosstalk.bell' ? shownServers(value, '***@') : withoutLogin(value);
    const before = recorded?.map(plain);
    const after = proposed?.map(plain);
    return {
      digest: digestOf(hash, ['setting', name], proposed ?? null),
      kind: 'setting',
      name: withoutLogin(name),
      ...(before === undefined ? {} : { approved: before.join('\n') }),
      ...(after === undefined ? {} : { proposed: after.join('\n') }),
      changes: [{ option: 'value', ...sides(single(before), single(after)) }],
    };
  });
}

/**
 * Removes the login that a web address may contain: a secret, and the only part of such an address that git
 * gives to nobody except the server. In any other value, a removed part could be the significant one.
 */
function withoutLogin(value: string): string {
  return value.replace(/^((?:url\.)?https?:\/\/)[^/?#\s@]*@/, '$1***@');
}

/**
 * Returns the approvals after these changes of a host file are accepted. The first approved tier of an actor
 * is its default.
 */
export function accept(
  approved: Approved,
  host: HostFile,
  changes: readonly HeldChange[],
): Approved {
  const result = copy(approved);
  for (const [actor, tiers] of host.actors) {
    const accepted = changes.filter((change) => change.actor === actor);
    if (accepted.length === 0) continue;
    const known = (result[actor] ??= { tiers: plain({}) });
    for (const tier of tiers) {
      if (accepted.some((change) => change.kind === 'tier' && change.tier === tier.name)) {
        known.tiers[tier.name] = optionsOf(tier);
        known.default ??= tier.name;
      }
    }
    const first = tiers[0]?.name;
    if (first !== undefined && accepted.some(({ kind }) => kind === 'default'))
      known.default = first;
  }
  return result;
}

function changedTier(
  hash: Hash,
  actor: string,
  tier: Tier,
  before: Tier | undefined,
  refused: string | undefined,
): HeldChange {
  const now = wholeOf(tier);
  const then = before === undefined ? undefined : wholeOf(before);
  const options = then === undefined ? Object.keys(optionsOf(tier)) : [...keys(then, now)];
  return {
    digest: digestOf(hash, ['tier', actor, tier.name], now),
    kind: 'tier',
    name: `${actor}.${tier.name}`,
    actor,
    tier: tier.name,
    ...(before === undefined ? {} : { approved: before.cli }),
    proposed: tier.cli,
    changes: options
      .map((option) => ({ option, ...sides(then && own(then, option), own(now, option)) }))
      .filter((change) => canonical(change.approved) !== canonical(change.proposed)),
    ...(refused === undefined ? {} : { refused }),
  };
}

function changedDefault(hash: Hash, actor: string, from: string, to: string): HeldChange {
  return {
    digest: digestOf(hash, ['default', actor], to),
    kind: 'default',
    name: actor,
    actor,
    approved: from,
    proposed: to,
    changes: [{ option: 'default', approved: from, proposed: to }],
  };
}

/** Returns the digest of a proposed thing; `what` identifies the thing. */
export function digestOf(
  hash: Hash,
  what: readonly [ThingKind, ...string[]],
  content: unknown,
): string {
  return hash(canonical([...what, content])).slice(0, DIGEST_LENGTH);
}

function single(values: readonly string[] | undefined): Value | undefined {
  return values?.length === 1 ? values[0] : values;
}

function sides(
  approved: Value | undefined,
  proposed: Value | undefined,
): { approved?: Value; proposed?: Value } {
  return {
    ...(approved === undefined ? {} : { approved }),
    ...(proposed === undefined ? {} : { proposed }),
  };
}

function keys(...records: readonly ApprovedOptions[]): Set<string> {
  return new Set(records.flatMap((record) => Object.keys(record)));
}

/** Returns the approvals with which the current host file runs, except for refused tiers. */
export function acceptWhole(host: HostFile, hash: Hash, refusal: TierRefusal): Approved {
  const { held } = inForce(host, {}, hash, refusal);
  return accept(
    {},
    host,
    held.filter(({ refused }) => refused === undefined),
  );
}

/** Most characters of a text in one line; `host show` prints all of it. */
const SHORT = 100;

/** Renders a value in the form in which a person judges it: JSON of printable ASCII. */
export function valueText(value: Value | undefined): string {
  return value === undefined ? 'nothing' : asAscii(JSON.stringify(value));
}

/** Options of a tier that are durations, which are stored in milliseconds. */
const DURATIONS = new Set(['timeout', 'retry_delay', 'permit_timeout']);

/**
 * Renders the value of an option in the form in which a person judges it; a duration in the form in which it
 * is written.
 */
export function optionText(option: string, value: Value | undefined): string {
  return typeof value === 'number' && DURATIONS.has(option)
    ? durationText(value)
    : valueText(value);
}

/** Renders a name in a form that cannot be mistaken for something else. */
export function nameText(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : asAsciiJson(name);
}

/** Renders a command as it is written, unless some of its characters might be invisible. */
export function commandText(cli: string): string {
  return /^[\x20-\x7e]*$/.test(cli) ? cli : asAsciiJson(cli);
}

/** Renders a held change on one line, cut short. */
export function changeText({ name, changes, refused }: HeldChange): string {
  const parts = changes.map(
    ({ option, approved, proposed }) =>
      `${option} ${short(option, proposed)} (in force: ${short(option, approved)})`,
  );
  const why = refused === undefined ? '' : `; refused: ${refused}`;
  return `${nameText(name)}: ${parts.length === 0 ? 'as approved before' : parts.join(', ')}${why}`;
}

function short(option: string, value: Value | undefined): string {
  return typeof value === 'object' || typeof value === 'string'
    ? shortJson(value, SHORT)
    : optionText(option, value);
}

/** JSON of about so many characters, cut between the parts of a value and within no name, so that it stays readable. */
function shortJson(value: Value, room: number): string {
  const whole = valueText(value);
  if (whole.length <= room) return whole;
  if (typeof value === 'string') return valueText(`${value.slice(0, Math.max(0, room - 5))}...`);
  if (typeof value !== 'object') return whole;
  const parts: string[] = [];
  let left = room - '{...}'.length;
  for (const [name, one] of Object.entries(value)) {
    const key = Array.isArray(value) ? '' : `${valueText(name)}:`;
    const text = key + shortJson(one, Math.max(0, left - key.length));
    if (text.length > left) break;
    parts.push(text);
    left -= text.length + 1;
  }
  if (parts.length < Object.keys(value).length) parts.push('...');
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

/** Renders the author, time and commit of a held change, as the commit states them; undefined if unknown. */
export function pushedText({ pushed }: HeldChange): string | undefined {
  if (pushed === undefined) return undefined;
  const { by, at, commit } = pushed;
  return `pushed by ${nameText(by)} at ${asAscii(at)} in ${commit.slice(0, 12)}`;
}
