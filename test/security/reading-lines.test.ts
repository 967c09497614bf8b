import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readingLine } from '../../src/agents/permission/risk.ts';
import { riskOf } from '../../src/agents/permission/risk.ts';
import { scratch } from '../support/bus.ts';

const place = { workdir: '/home/u/app', home: '/home/u' };
const mark = (command: string): string => riskOf('claude', 'Bash', { command }, place).mark;

/** Lines that write or execute, by programs and words that look as if they only read. */
const ATTACKS = [
  'env -u cat sh x',
  'exec -a ls sh x',
  "test -v 'a[$(touch made)]'",
  'sort -o made a.txt',
  'xargs -a a.txt sh x',
  'ls | xargs sh x',
  'command -p sh x',
  'nice -n 5 sh x',
  'timeout 5 sh x',
  'time sh x',
  "printf -v 'a[$(touch made)]' x",
  "[ -v 'a[$(touch made)]' ]",
  'uniq a.txt made',
  'sort --compress-program=./x -S 1b a.txt',
  'tree -o made',
  'date -s 2020-01-01',
  'hostname other',
  'file -C -m magic',
  'git status',
  'git diff',
  'git log -p',
  'rg x',
  'column x',
  'find . -fprint made',
  'find . -exec sh x ";"',
  'find . "-exec" sh x ";"',
  'diff -l a.txt b.txt',
  'cat a.txt>made',
  'cat a.txt &>made',
  'cat <(touch made)',
  'echo $(touch made)',
  'echo "`touch made`"',
  'echo "$(touch made)"',
  'echo a;touch made',
  'echo a\ntouch made',
  'echo a\rtouch made',
  'echo a & touch made',
  'ls || touch made',
  'cat a.txt |& tee made',
  'ls *(e:"touch made":)',
  'echo {a,$(touch made)}',
  'PATH=. ls',
  'a=b ls',
  './ls',
  '"ls"x',
  "l's'x",
  '\\ls',
  '\u00a0ls',
  'ls\u2028touch made',
  '=ls',
  '~/ls',
  'ls ~',
  'echo $PATH',
  "echo 'a' '$(touch made)' \\' $(touch made) \\'",
  '! ls',
  'function ls { touch made; }',
  'alias ls=x',
];

it.each(ATTACKS)('%j is never said to read', (command) => {
  expect(mark(command)).not.toBe('reads');
});

/** A folder with what lines may name, and programs of the names of others that would tell that they were started. */
function folder(): string {
  const dir = scratch();
  mkdirSync(join(dir, 'src'));
  for (const name of ['a.txt', 'b.txt', 'src/c.ts', 'x'])
    writeFileSync(join(dir, name), name === 'x' ? 'touch made\n' : 'a needle\nand more\n');
  return dir;
}

function seen(dir: string): string {
  const names = readdirSync(dir, { recursive: true }).map(String).sort();
  return names
    .map((name) => {
      const { mode, mtimeMs, size } = statSync(join(dir, name));
      const isFile = statSync(join(dir, name)).isFile();
      return [name, mode, mtimeMs, size, isFile && readFileSync(join(dir, name), 'utf8')].join();
    })
    .join('\n');
}

const SHELLS = ['/bin/sh', '/bin/bash', '/bin/zsh'].filter((shell) => existsSync(shell));
const NAMES =
  'basename cat cmp cut df diff dirname du echo find grep head ls md5sum pwd sha256sum stat tail tr wc'.split(
    ' ',
  );
const metacharacters = Array.from('$`\'"\\;&|<>(){}[]*?~#!%^=\n\t ');
const pieces = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(...NAMES, 'a.txt', 'b.txt', 'src', '.', '-n', '-l', '-r'),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(' | ', ' && ', "'a b'", '"c | d"', '-', '--', '-5', '+2'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('-o', 'made', '-exec', 'sh', 'x', 'xargs', 'env', 'sort'),
  },
  { weight: 2, arbitrary: fc.constantFrom(...metacharacters, '$(touch made)', '>made', '`sh x`') },
);
const line = fc
  .tuple(fc.constantFrom(...NAMES), fc.array(pieces, { maxLength: 7 }))
  .map(([name, some]) => [name, ...some].join(' ').replaceAll(/ +(\||&&) +/g, ' $1 '));

it(
  'no shell changes anything by a line that is said to read, or starts a program that it does not name',
  { tags: 'long' },
  () => {
    const lines = fc
      .sample(line, { numRuns: 4000 })
      .filter((one) => readingLine(one) !== undefined);
    expect(lines.length).toBeGreaterThan(100);
    const dir = folder();
    // These come first, and are asked for nothing by a line that names only those of the table.
    const bin = scratch();
    for (const name of ['sh', 'touch', 'tee', 'env', 'xargs', 'pr', 'less', 'sort', 'made', 'x'])
      writeFileSync(join(bin, name), '#!/bin/sh\necho started >> "$STARTED"\n', { mode: 0o755 });
    const started = join(bin, 'started');
    const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: scratch(), STARTED: started };
    const before = seen(dir);
    // Each line runs in a shell of its own, all of them by one process, and reads nothing but files.
    for (const shell of SHELLS) {
      for (const some of lines.slice(0, 150))
        spawnSync(shell, ['-c', some], { cwd: dir, env, input: '', timeout: 120_000 });
      expect(seen(dir)).toBe(before);
      expect(existsSync(started)).toBe(false);
    }
    // The trap itself works.
    spawnSync('/bin/bash', ['-c', 'sh x; touch made'], { cwd: dir, env });
    expect(existsSync(started)).toBe(true);
  },
);

it('no line with a metacharacter outside of quotes is said to read', () => {
  fc.assert(
    fc.property(
      line,
      fc.constantFrom(...Array.from('$`\\;<>(){}[]*?~#!%^=\n\t\r\0')),
      fc.nat(),
      (one, by, at) => {
        const bare = one.replaceAll(/['"]/g, '');
        const index = at % (bare.length + 1);
        return mark(`${bare.slice(0, index)}${by}${bare.slice(index)}`) !== 'reads';
      },
    ),
  );
});
