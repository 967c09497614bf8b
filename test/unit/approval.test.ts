import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { type Value, optionsOf, tierOf, withTier } from '../../src/protocol/approval/record.ts';
import { describe, expect, it } from 'vitest';
import {
  changeText,
  accept,
  acceptWhole,
  heldSettings,
  inForce,
} from '../../src/protocol/approval/approval.ts';
import { durationText, parseDuration } from '../../src/protocol/text/times.ts';
import { parseHostFile, TIER_DEFAULTS, type HostFile } from '../../src/protocol/files/host-file.ts';

const hash = (text: string): string => createHmac('sha256', 'key').update(text).digest('hex');
const value = (yaml: string): HostFile => {
  const parsed = parseHostFile(`---\n${yaml}---\n`);
  if (!parsed.ok) throw new Error(parsed.problems.join());
  return parsed.value;
};
const weighed = (
  host: HostFile,
  approved: Parameters<typeof inForce>[1],
): ReturnType<typeof inForce> => inForce(host, approved, hash);
const all = (host: HostFile): ReturnType<typeof acceptWhole> =>
  acceptWhole(host, hash, () => undefined);

describe('what is approved of a host file', () => {
  const before = value('alias: mac\nactors:\n  a: {one: x}\n');

  it('stays in force whole: its command, and every option', () => {
    const after = value(
      'alias: mac\nactors:\n  a:\n    one: {cli: x, count: 100000, timeout: 20m, max_runs_per_hour: 99999, max_depth: 100, attempts: 9, retry_delay: 1s}\n',
    );
    const { host, held } = weighed(after, all(before));
    expect(host.actors.get('a')).toEqual([{ ...TIER_DEFAULTS, name: 'one', cli: 'x' }]);
    expect(held).toMatchObject([{ kind: 'tier', approved: 'x', proposed: 'x' }]);
    expect(held[0]?.changes).toEqual([
      { option: 'count', approved: 1, proposed: 100_000 },
      { option: 'timeout', approved: 600_000, proposed: 1_200_000 },
      { option: 'attempts', approved: 3, proposed: 9 },
      { option: 'retry_delay', approved: 2000, proposed: 1000 },
      { option: 'max_runs_per_hour', approved: 600, proposed: 99_999 },
      { option: 'max_depth', approved: 40, proposed: 100 },
    ]);
  });

  it('covers an option that a tier gains later, without a word here', () => {
    const [tier] = before.actors.get('a') ?? [];
    const later = { ...tier!, workDir: '~/src' };
    const host = { ...before, actors: new Map([['a', [later]]]) };
    expect(weighed(host, all(before)).held[0]?.changes).toEqual([
      { option: 'work_dir', proposed: '~/src' },
    ]);
    expect(weighed(host, all(host)).host.actors.get('a')).toEqual([later]);
    expect(tierOf('one', optionsOf(later))).toEqual(later);
  });

  it('names new tiers and actors; one without an approved tier keeps an empty list', () => {
    const after = value('alias: mac\nactors:\n  a: {one: {cli: y, count: 4}}\n  b: {t: z}\n');
    const { host, held } = weighed(after, all(before));
    expect(host.actors.get('b')).toEqual([]);
    expect(held).toMatchObject([
      {
        name: 'a.one',
        approved: 'x',
        proposed: 'y',
        changes: [{ option: 'cli' }, { option: 'count' }],
      },
      { name: 'b.t', proposed: 'z', changes: [{ option: 'cli', proposed: 'z' }] },
    ]);
    expect(held[1]).not.toHaveProperty('approved');
    expect(weighed(after, all(after)).held).toEqual([]);
  });

  it('needs no approval to go: what is removed is not served', () => {
    const two = value('alias: mac\nactors:\n  a: {one: x, two: y}\n  b: {t: z}\n');
    const { host, held } = weighed(before, all(two));
    expect([[...host.actors.keys()], held]).toEqual([['a'], []]);
    expect(host.actors.get('a')?.map(({ name }) => name)).toEqual(['one']);
  });

  it('cannot be approved through a name every object has', () => {
    const host = value('alias: mac\nactors:\n  constructor: {name: x}\n  toString: {t: y}\n');
    expect(weighed(host, {}).held).toHaveLength(2);
    expect(weighed(host, all(host)).held).toEqual([]);
  });

  it('is the command alone where that is all an operator wrote', () => {
    const approved = withTier({}, 'a', 'one', { cli: 'x' });
    expect(weighed(before, approved).held).toEqual([]);
  });

  it('does not run what is refused, approved or not, and says why', () => {
    const refusal = (): string => 'it names a file';
    const { host, held } = inForce(before, all(before), hash, refusal);
    expect(host.actors.get('a')).toEqual([]);
    expect(held).toMatchObject([{ name: 'a.one', refused: 'it names a file' }]);
    expect(acceptWhole(before, hash, refusal)).toEqual({});
  });
});

describe('the tier of those who ask for none', () => {
  const before = value('alias: mac\nactors:\n  a: {safe: x, wild: y}\n');
  const names = (host: HostFile): unknown => host.actors.get('a')?.map(({ name }) => name);

  it('stays the approved one when the order changes, until that is approved', () => {
    const after = value('alias: mac\nactors:\n  a: {wild: y, safe: x}\n');
    const { host, held } = weighed(after, all(before));
    expect(names(host)).toEqual(['safe', 'wild']);
    expect(held).toMatchObject([
      { kind: 'default', name: 'a', approved: 'safe', proposed: 'wild' },
    ]);
    const accepted = weighed(after, accept(all(before), after, held));
    expect([names(accepted.host), accepted.held]).toEqual([['wild', 'safe'], []]);
  });

  it('stays when it is removed, until another is approved as such', () => {
    const after = value('alias: mac\nactors:\n  a: {wild: y}\n');
    const { host, held } = weighed(after, all(before));
    expect(names(host)).toEqual(['safe', 'wild']);
    expect(names(weighed(after, accept(all(before), after, held)).host)).toEqual(['wild']);
  });

  it('is not changed by approving a tier that was put first', () => {
    const after = value('alias: mac\nactors:\n  a: {new: z, safe: x, wild: y}\n');
    const [tier] = weighed(after, all(before)).held;
    const { host, held } = weighed(after, accept(all(before), after, [tier!]));
    expect(names(host)).toEqual(['safe', 'new', 'wild']);
    expect(held).toMatchObject([{ kind: 'default', proposed: 'new' }]);
  });
});

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,3}$/);
const tier = fc.record({
  cli: fc.string({ minLength: 1, maxLength: 8 }).filter((cli) => cli.trim() !== ''),
  count: fc.integer({ min: 1, max: 3 }),
  timeout: fc.constantFrom(600_000, 1000),
});
const hosts = fc
  .dictionary(name, fc.dictionary(name, tier, { minKeys: 1, maxKeys: 3 }), { maxKeys: 3 })
  .map((actors): HostFile => ({
    unknown: [],
    alias: 'mac',
    body: '',
    actors: new Map(
      Object.entries(actors).map(([actor, tiers]) => [
        actor,
        Object.entries(tiers).map(([slot, options]) => ({
          ...TIER_DEFAULTS,
          ...options,
          name: slot,
        })),
      ]),
    ),
  }));

describe('laws of approval', () => {
  it('a digest approves exactly what it was shown for', () => {
    fc.assert(
      fc.property(hosts, hosts, fc.nat(), (before, after, pick) => {
        const approved = all(before);
        const { held, host } = weighed(after, approved);
        const chosen = held[pick % Math.max(1, held.length)];
        if (chosen === undefined) return;
        const then = weighed(after, accept(approved, after, [chosen]));
        const left = held.filter((change) => change !== chosen).map(({ digest }) => digest);
        // Nothing else was approved; the first tier of a new actor brings no other change with it.
        for (const digest of left) expect(then.held.map((one) => one.digest)).toContain(digest);
        expect(then.held.map((one) => one.digest)).not.toContain(chosen.digest);
        for (const [actor, tiers] of host.actors)
          for (const running of tiers)
            if (actor !== chosen.actor) expect(then.host.actors.get(actor)).toContainEqual(running);
      }),
    );
  });

  it('two digests are the same only for the same thing with the same text', () => {
    fc.assert(
      fc.property(hosts, hosts, (one, two) => {
        const texts = new Map<string, string>();
        for (const host of [one, two])
          for (const change of weighed(host, {}).held) {
            const said = JSON.stringify([
              change.name,
              host.actors.get(change.actor ?? '')?.find((t) => t.name === change.tier),
            ]);
            expect(texts.get(change.digest) ?? said).toBe(said);
            texts.set(change.digest, said);
          }
      }),
    );
  });

  it('what is approved whole holds nothing and runs as it stands', () => {
    fc.assert(
      fc.property(hosts, (host) => {
        const { host: running, held } = weighed(host, all(host));
        expect([running.actors, held]).toEqual([host.actors, []]);
      }),
    );
  });
});

it('a changed setting is held with both values, without the login in a web address', () => {
  const [change] = heldSettings(
    [
      {
        name: 'remote.origin.url',
        recorded: ['https://bot:secret@example.org/a.git'],
        proposed: ['ext::sh -c "x //a:$(evil)@b"'],
      },
    ],
    hash,
  );
  expect(change).toMatchObject({
    kind: 'setting',
    approved: 'https://***@example.org/a.git',
    proposed: 'ext::sh -c "x //a:$(evil)@b"',
  });
  expect(changeText(change!)).toContain('"ext::sh -c \\"x //a:$(evil)@b\\""');
});

it('a long value is cut between its parts, and no name in the middle', () => {
  const server = {
    command: 'npx',
    args: ['-y', '@modelcontextprotocol/server-github'],
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: '${GITHUB_TOKEN}', GITHUB_HOST: 'https://example.org' },
  };
  const text = (proposed: Value) =>
    changeText({
      digest: 'x',
      kind: 'tier',
      name: 'a.one',
      changes: [{ option: 'tools', proposed }],
    });
  expect(text({ github: server })).toBe(
    'a.one: tools {"github":{"command":"npx","args":["-y","@modelcontextprotocol/server-github"],"env":{...}}} (in force: nothing)',
  );
  expect(text('x'.repeat(200))).toBe(`a.one: tools "${'x'.repeat(95)}..." (in force: nothing)`);
});

it('a length of time is shown as one is written, and read as the same again', () => {
  const changes = [{ option: 'timeout', approved: 600_000, proposed: 300_000 }];
  expect(changeText({ digest: 'x', kind: 'tier', name: 'a.one', changes })).toBe(
    'a.one: timeout 5m (in force: 10m)',
  );
  for (const ms of [1, 250, 1000, 90_000, 5_400_000, 86_400_000, 691_200_500])
    expect(parseDuration(durationText(ms))).toBe(ms);
});
