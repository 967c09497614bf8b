import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

it.each([
  ['docs/failures.md', 'what happens', 50],
  ['docs/security.md', 'attack', 60],
])('every row of %s names a test that exists', (document, heading, least) => {
  const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(root, 'test', name), 'utf8').replace(/\$\{[^}]*\}/g, '%s'))
    .join('\n');
  // The tables of tests; other headings have other content.
  const rows = readFileSync(join(root, document), 'utf8')
    .split(/\n(?=\| [^\n]+\n\| -)/)
    .filter((table) => table.startsWith(`| ${heading} |`))
    .flatMap((table) => table.split('\n').slice(2))
    .filter((line) => line.startsWith('| '));
  const titles = rows.map((row) => row.split('|').at(-2)?.trim() ?? '');
  expect(titles.length).toBeGreaterThan(least);
  expect(titles.filter((title) => title === '' || !tests.includes(title))).toEqual([]);
});

it('every path that docs/contributing.md names exists', () => {
  const text = readFileSync(join(root, 'docs/contributing.md'), 'utf8');
  const paths = [...text.matchAll(/`([^`\s]+)`/g)]
    .map(([, quoted = '']) => quoted)
    .filter((quoted) => quoted.includes('/') || /\.(?:md|json|tsx?|js)$/.test(quoted));
  expect(paths.length).toBeGreaterThan(80);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it('links between the documents lead somewhere', () => {
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name)),
  ];
  const broken = documents.flatMap((document) =>
    [...readFileSync(join(root, document), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
      .map(([, target = '']) => join(root, document, '..', target))
      .filter((target) => {
        try {
          readdirSync(target);
          return false;
        } catch (error) {
          return (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
        }
      }),
  );
  expect(broken).toEqual([]);
});
