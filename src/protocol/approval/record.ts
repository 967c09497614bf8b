import { TIER_DEFAULTS, type HostFile, type Tier } from '../files/host-file.ts';

/** A value of an option: what JSON can hold. */
export type Value =
  string | number | boolean | readonly Value[] | { readonly [name: string]: Value };
/** What a thing says, by option, named as in the host file. Times in milliseconds. */
export type ApprovedOptions = Readonly<Record<string, Value>>;

/** What is approved of one actor. */
interface ApprovedActor {
  /** The tier in force when none is asked for. */
  default?: string;
  /** Of each tier the command (`cli`) and the options that are not the default ones. */
  tiers: Record<string, ApprovedOptions>;
}

/** By actor: what this machine has approved of one host file. */
export type Approved = Record<string, ApprovedActor>;

/** What a tier says besides its name, as approvals keep it: nothing that is so by default. */
export function optionsOf(tier: Tier): ApprovedOptions {
  const defaults = wholeOf({ ...TIER_DEFAULTS, name: '', cli: '' });
  return Object.fromEntries(
    Object.entries(wholeOf(tier)).filter(([option, value]) => value !== defaults[option]),
  );
}

/** Everything that a tier says besides its name. */
export function wholeOf(tier: Tier): ApprovedOptions {
  const { cli, ...rest } = tier;
  const given = Object.entries<Value | undefined>({ cli, ...rest });
  return Object.fromEntries(
    given.flatMap(([key, value]) =>
      key === 'name' || value === undefined
        ? []
        : [[key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]],
    ),
  );
}

/** The tier that was approved, whole: what is not on record is as it is by default. */
export function tierOf(name: string, options: ApprovedOptions): Tier {
  const recorded = Object.entries(options).map(([key, value]) => [
    key.replace(/_[a-z]/g, (letters) => letters.slice(1).toUpperCase()),
    value,
  ]);
  return { ...TIER_DEFAULTS, ...(Object.fromEntries(recorded) as { cli: string }), name };
}

/**
 * What 6.0.0 recorded, commands alone, as it is kept now. The other options of a command are those
 * it ran with: the host file that was last in force says them, where it has this command.
 */
export function fromCommands(
  commands: Readonly<Record<string, Readonly<Record<string, string>>>>,
  last: HostFile | undefined,
): Approved {
  const actors = Object.entries(commands).map(([actor, slots]): [string, ApprovedActor] => {
    const declared = last?.actors.get(actor) ?? [];
    const tiers = Object.entries(slots).map(([name, cli]) => {
      const tier = declared.find((one) => one.name === name && one.cli === cli);
      return [name, tier === undefined ? { cli } : optionsOf(tier)] as const;
    });
    const names = tiers.map(([name]) => name);
    const first = [...declared.map(({ name }) => name), ...names].find((name) =>
      names.includes(name),
    );
    return [
      actor,
      {
        ...(first === undefined ? {} : { default: first }),
        tiers: plain(Object.fromEntries(tiers)),
      },
    ];
  });
  return plain(Object.fromEntries(actors));
}

/** JSON with the keys of every object in order, so that equal contents have one text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** A name from a file is looked up among own ones only: `constructor` is no tier of ours. */
export function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

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

export function plain<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.assign(Object.create(null) as Record<string, T>, record);
}
