import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  formatMemory,
  isMemoryFile,
  memoryFileAt,
  parseMemory,
  parseMemoryFile,
  type Memory,
} from '../../src/protocol/files/memory.ts';
import {
  namedHeads,
  supersededBy,
  type LinkedMemory,
} from '../../src/protocol/files/memory-links.ts';
import { agedScore } from '../../src/protocol/files/memory-age.ts';
import { memory as anyMemory } from '../support/arbitraries.ts';
import { processorTime } from '../support/processor-time.ts';

const file = (n: number): string => memoryFileAt(new Date(n), n.toString(16).padStart(8, '0'));
/** A note by number: what it supersedes, and its name. */
interface Link {
  old?: readonly number[];
  name?: string;
  scope?: string;
}
const named = (links: Record<number, Link>): Map<string, LinkedMemory> =>
  new Map(
    Object.entries(links).map(([n, { old = [], name, scope = 'global' }]) => [
      file(Number(n)),
      { supersedes: old.map(file), scope, ...(name !== undefined && { name }) },
    ]),
  );
/** Memories by number, each with the number of the one it supersedes. */
const linked = (links: Record<number, number | undefined>): Map<string, LinkedMemory> =>
  named(
    Object.fromEntries(
      Object.entries(links).map(([n, old]) => [n, old === undefined ? {} : { old: [old] }]),
    ),
  );
const header = 'from: a\ntimestamp: 2026-06-09T17:00:00.000Z\nsubject: s\n';

it('parsing what was formatted gives the memory back, whatever it holds', () => {
  fc.assert(
    fc.property(anyMemory(), (memory) => {
      const text = formatMemory(memory);
      expect(parseMemory(text)).toEqual({ ok: true, value: memory });
      expect(parseMemoryFile(Buffer.from(text))).toEqual({ ok: true, value: memory });
    }),
    { numRuns: 500 },
  );
});

it('any bytes at all are either a memory or not, never an exception', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.string(), (bytes, text) => {
      parseMemoryFile(bytes);
      parseMemory(`---\n${header}alias: ${text}\n---\n`);
      parseMemory(`---\n${text}\n---\n`);
    }),
    { numRuns: 500 },
  );
});

it.each([
  ['', []],
  ['alias:\n', []],
  ['alias: deploy\n', ['deploy']],
  ['alias: [1e5, release train]\n', ['1e5', 'release train']],
  ['alias: []\n', []],
])('%j gives the aliases %j', (line, alias) => {
  const parsed = parseMemory(`---\n${header}${line}---\n`);
  expect((parsed as { value: Memory }).value.alias).toEqual(alias);
});

it.each(['alias: {a: b}', 'alias: [[a]]', 'alias: [""]', 'alias: "a\\nb"'])(
  '%j is no alias',
  (line) => {
    expect(parseMemory(`---\n${header}${line}\n---\n`)).toEqual({
      ok: false,
      problems: [expect.stringMatching(/^alias is ".*", expected a word or a list of them$/)],
    });
  },
);

it('a file over 1 MiB or not in UTF-8 is no memory', () => {
  const text = `---\n${header}---\n\n`;
  expect(parseMemoryFile(Buffer.from(text + 'x'.repeat(1024 * 1024)))).toMatchObject({
    problems: [expect.stringContaining('larger than 1 MiB')],
  });
  expect(parseMemoryFile(Buffer.from([0xff, 0xfe]))).toMatchObject({ problems: ['not UTF-8'] });
});

it('memory files are named by time and suffix', () => {
  expect(isMemoryFile(memoryFileAt(new Date(0), 'abcdef01'))).toBe(true);
  for (const name of ['x.md', '../x', '19700101T000000000Z-abc.md', `${file(1)}\n`, ` ${file(1)}`])
    expect(isMemoryFile(name)).toBe(false);
});

it('a memory is in force until another supersedes it, whatever their names say', () => {
  expect(supersededBy(linked({ 1: undefined, 2: 1, 3: 2, 4: 9 }))).toEqual(
    new Map([
      [file(1), file(2)],
      [file(2), file(3)],
    ]),
  );
  expect(supersededBy(linked({ 5: undefined, 2: 5 }))).toEqual(new Map([[file(5), file(2)]]));
  expect(supersededBy(linked({ 1: undefined, 2: 1, 3: 1 }))).toEqual(new Map([[file(1), file(3)]]));
});

it('of memories that supersede one another the newest stays', () => {
  expect(supersededBy(linked({ 1: 1 }))).toEqual(new Map());
  expect(supersededBy(linked({ 1: 2, 2: 1 }))).toEqual(new Map([[file(1), file(2)]]));
  expect([...supersededBy(linked({ 1: 3, 2: 1, 3: 2 })).keys()].sort()).toEqual([file(1), file(2)]);
  expect(supersededBy(linked({ 1: 2, 2: 1, 7: 2 }))).toEqual(
    new Map([
      [file(1), file(2)],
      [file(2), file(7)],
    ]),
  );
});

/** Notes of two names and two scopes that claim anything of one another. */
const anyLinks = (): fc.Arbitrary<Record<string, Link>> => {
  const number = fc.integer({ min: 1, max: 12 });
  return fc.dictionary(
    number.map(String),
    fc.record(
      {
        old: fc.array(number, { maxLength: 4 }),
        name: fc.constantFrom('a', 'b'),
        scope: fc.constantFrom('global', 'actor:x'),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
  );
};

it('from every memory a chain of those that replace it ends at one in force, whatever they say', () => {
  fc.assert(
    fc.property(anyLinks(), (drawn) => {
      const all = named(drawn);
      const by = supersededBy(all);
      const groupOf = (one: string): string | undefined => {
        const { name, scope } = all.get(one)!;
        return name && `${scope} ${name}`;
      };
      for (const [old, fresh] of by)
        expect(
          all.get(fresh)?.supersedes.includes(old) === true || groupOf(old) === groupOf(fresh),
        ).toBe(true);
      for (const start of all.keys()) {
        const seen = new Set<string>();
        let at: string | undefined = start;
        while (at !== undefined) {
          expect(seen.has(at)).toBe(false);
          seen.add(at);
          at = by.get(at);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

it('a memory may replace several, and says the first of them as plain 6.0 does', () => {
  expect(supersededBy(named({ 1: {}, 2: {}, 3: { old: [1, 2] } }))).toEqual(
    new Map([
      [file(1), file(3)],
      [file(2), file(3)],
    ]),
  );
  const text = formatMemory({
    from: 'a',
    timestamp: '2026-06-09T17:00:00.000Z',
    subject: 's',
    scope: 'global',
    supersedes: [file(1), file(2)],
    alias: [],
    extra: {},
    body: 'b\n',
  });
  expect(text).toContain(`\nsupersedes: ${file(1)}\n`);
  expect(parseMemory(`---\n${header}supersedes: [${file(2)}, ${file(1)}]\n---\n`)).toMatchObject({
    value: { supersedes: [file(2), file(1)] },
  });
  const many = Array.from({ length: 101 }, (_, n) => file(n)).join(', ');
  expect(parseMemory(`---\n${header}supersedes: [${many}]\n---\n`)).toEqual({
    ok: false,
    problems: ['supersedes names 101 memories, at most 100 are allowed'],
  });
});

it('of those that were written anew under one name at the same time one is in force', () => {
  const both = { 1: { name: 'x' }, 2: { name: 'x', old: [1] }, 3: { name: 'x', old: [1] } };
  expect(supersededBy(named(both))).toEqual(
    new Map([
      [file(1), file(3)],
      [file(2), file(3)],
    ]),
  );
  // A machine whose clock is slow writes it anew.
  expect(supersededBy(named({ 8: { name: 'x' }, 2: { name: 'x', old: [8] } }))).toEqual(
    new Map([[file(8), file(2)]]),
  );
  // What gave way does not come back when the other one is replaced.
  expect(supersededBy(named({ ...both, 4: { old: [3] } }))).toEqual(
    new Map([
      [file(1), file(3)],
      [file(2), file(3)],
      [file(3), file(4)],
    ]),
  );
  const apart = { 1: { name: 'x' }, 2: { name: 'x', scope: 'actor:a' }, 3: { name: 'y' }, 4: {} };
  expect(supersededBy(named(apart))).toEqual(new Map());
  expect(namedHeads(named(both), { name: 'x', scope: 'global' })).toEqual([file(3), file(2)]);
  expect(namedHeads(named(both), { name: 'x', scope: 'actor:a' })).toEqual([]);
});

it('what is written under a name comes into force, whatever others of that name say, however many they are', () => {
  // By slow clocks, and by fast ones that go backwards.
  const times = fc.constantFrom([0, 13], [99, 98]);
  fc.assert(
    fc.property(anyLinks(), times, fc.integer({ min: 1, max: 3 }), (drawn, fresh, most) => {
      const all = named(drawn);
      const scope = 'global';
      // Each one replaces no more than so many; one has to be enough.
      for (const n of fresh) {
        const supersedes = namedHeads(all, { name: 'a', scope }).slice(0, most);
        all.set(file(n), { name: 'a', scope, supersedes });
        const by = supersededBy(all);
        const inForce = [...all].filter(([one, { name }]) => name === 'a' && !by.has(one));
        expect(inForce.filter(([, one]) => one.scope === scope).map(([one]) => one)).toEqual([
          file(n),
        ]);
      }
    }),
    { numRuns: 1000 },
  );
  // A slow clock, after a note without a name took the place of the last one.
  const merged = named({ 8: { name: 'x' }, 9: { old: [8] }, 1: { name: 'x', old: [9] } });
  expect(supersededBy(merged)).toEqual(
    new Map([
      [file(8), file(9)],
      [file(9), file(1)],
    ]),
  );
});

it('what plain 6.0 does not have is kept as it is where it has another form here', () => {
  const odd = 'name: Some Name\nkind: poem\nchange: [x]\nchanged_by: 1:2\ncovers: no\n';
  const parsed = parseMemory(`---\n${header}${odd}supersedes_also: x\n---\n`);
  if (!parsed.ok) throw new Error(parsed.problems.join());
  expect(Object.keys(parsed.value.extra).sort()).toEqual([
    ...['change', 'changed_by', 'covers', 'kind', 'name', 'supersedes_also'],
  ]);
  expect(parseMemory(formatMemory(parsed.value))).toEqual(parsed);
  expect(parseMemory(`---\n${header}kind: note\n---\n`)).toMatchObject({ value: { extra: {} } });
  for (const scope of ['actor:', 'actor:a b', 'actor:../x', 'everybody'])
    expect(parseMemory(`---\n${header}scope: "${scope}"\n---\n`)).toMatchObject({ ok: false });
});

it('a note is worth half after 30 days, and a decision or a reference what it was', () => {
  const now = new Date('2026-03-02T00:00:00Z');
  const before = (days: number): string =>
    new Date(now.getTime() - days * 86_400_000).toISOString();
  expect(agedScore(8, { timestamp: before(30) }, now)).toBeCloseTo(4);
  expect(agedScore(8, { timestamp: before(60), kind: 'preference' }, now)).toBeCloseTo(2);
  expect(agedScore(8, { timestamp: before(60), kind: 'decision' }, now)).toBe(8);
  expect(agedScore(8, { timestamp: before(60), kind: 'reference' }, now)).toBe(8);
  expect(agedScore(8, { timestamp: before(-60) }, now)).toBe(8);
});

it('a hundred thousand links between notes are followed in time that grows with their number', () => {
  const size = 2000;
  const all = named(
    Object.fromEntries(
      Array.from({ length: size }, (_, n) => [
        n,
        {
          old: Array.from({ length: 50 }, (__, k) => (n + k * 37) % size),
          name: `n${String(n % 7)}`,
        },
      ]),
    ),
  );
  const begun = processorTime();
  const by = supersededBy(all);
  expect(processorTime() - begun).toBeLessThan(5000);
  expect(by.size).toBeLessThan(size);
});
