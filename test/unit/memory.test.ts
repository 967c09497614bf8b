import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  formatMemory,
  isMemoryFile,
  memoryFileAt,
  parseMemory,
  parseMemoryFile,
  supersededBy,
  type Memory,
} from '../../src/protocol/files/memory.ts';
import { memory as anyMemory } from '../support/arbitraries.ts';

const file = (n: number): string => memoryFileAt(new Date(n), n.toString(16).padStart(8, '0'));
/** Memories by number, each with the number of the one it supersedes. */
const linked = (links: Record<number, number | undefined>): Map<string, { supersedes?: string }> =>
  new Map(
    Object.entries(links).map(([n, old]) => [
      file(Number(n)),
      old === undefined ? {} : { supersedes: file(old) },
    ]),
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

it('from every memory a chain of those that replace it ends at one in force', () => {
  const links = fc.dictionary(
    fc.integer({ min: 0, max: 12 }).map(String),
    fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
  );
  fc.assert(
    fc.property(links, (drawn) => {
      const all = linked(drawn);
      const by = supersededBy(all);
      for (const [old, fresh] of by) expect(all.get(fresh)?.supersedes).toBe(old);
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
    { numRuns: 500 },
  );
});
