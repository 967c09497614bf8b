import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from './bus.ts';

/** Command lines that all start the same program, which `%` stands for. */
export const SPELLINGS: readonly string[] = [
  '% -p',
  ' %\t-p ',
  'X=1 % -p',
  'X="1 2" Y= % -p --model "a b"',
  'env X=1 % -p',
  'env "X=1 2" % -p',
  'env -u X % -p',
  'env -- X=1 % -p',
  'exec % -p',
  'X=1 exec % -p',
  'exec env X=1 % -p',
  'X=0 exec env X=1 nice -n 1 % -p',
  'command % -p',
  'nice % -p',
  '"%" -p',
  "'%' -p",
  '\\\n% \\\n  -p',
  '\n% -p\n',
  '% -p 2> /dev/null',
  'X=1 % -p 2>&1 | cat',
  'X=1 % -p; true',
  'X=1 % "-p" || true',
  '% -p "$(echo a)"',
  '% -p # what it is for',
];

/** The spellings without quotes around the program. */
export const UNQUOTED = SPELLINGS.filter((spelling) => !/"%"|'%'/.test(spelling));

/** A folder with a program that prints which of its variables are set. */
export function tools(name: string): string {
  const folder = scratch();
  const program = join(folder, name);
  writeFileSync(program, `#!/bin/sh\necho "${name} with X=$X"\n`);
  chmodSync(program, 0o755);
  return folder;
}
