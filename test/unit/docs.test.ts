import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The last cells of the rows of a document's tables that have a heading. */
function lastCells(document: string, heading: string): string[] {
  return readFileSync(join(root, document), 'utf8')
    .split(/\n(?=\| [^\n]+\n\| -)/)
    .filter((table) => table.startsWith(`| ${heading} |`))
    .flatMap((table) => table.split('\n').slice(2))
    .filter((line) => line.startsWith('| '))
    .map((row) => row.split('|').at(-2)?.trim() ?? '');
}

/** The files with tests that `npm test` runs, by their path below `test`. */
const short = new Map(
  readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => [name, readFileSync(join(root, 'test', name), 'utf8')] as const)
    .filter(([, text]) => !text.includes('@module-tag long')),
);

it('every row of docs/failures.md names a test that exists, and that npm test runs', () => {
  const tests = [...short.values()]
    .map((text) => text.replace(/\$\{UNLESS\}/g, '').replace(/\$\{[^}]*\}/g, '%s'))
    // Nothing follows the title of a test that is left out.
    .map((text) => text.replace(/['"`],\s*\{ tags: 'long'/g, '#'))
    .join('\n');
  const titles = lastCells('docs/failures.md', 'what happens');
  expect(titles.length).toBeGreaterThan(50);
  const quoted = (title: string): boolean =>
    ["'", '"', '`'].some((mark) => tests.includes(`${title}${mark}`));
  expect(titles.filter((title) => title === '' || !quoted(title))).toEqual([]);
});

it('every row of docs/security.md names files of tests that npm test runs, and none of test/security is left out', () => {
  const cells = lastCells('docs/security.md', 'rule');
  expect(cells.length).toBeGreaterThan(30);
  const named = cells.flatMap((cell) => cell.split(', '));
  const missing = named.filter((name) => !short.has(`${name}.test.ts`));
  expect(missing).toEqual([]);
  const attacks = readdirSync(join(root, 'test/security')).filter((name) =>
    name.endsWith('.test.ts'),
  );
  const files = attacks.map((name) => `security/${name.replace('.test.ts', '')}`);
  expect(files.filter((name) => !named.includes(name))).toEqual([]);
});

it('every path that docs/contributing.md names exists', () => {
  const text = readFileSync(join(root, 'docs/contributing.md'), 'utf8');
  const paths = [...text.matchAll(/`([^`\s]+)`/g)]
    .map(([, quoted = '']) => quoted)
    .filter((quoted) => quoted.includes('/') || /\.(?:md|json|tsx?|js)$/.test(quoted));
  expect(paths.length).toBeGreaterThan(80);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

/** The names by which a document's headings are linked to. */
function anchorsOf(path: string): Set<string> {
  const text = readFileSync(path, 'utf8').replace(/^```.*?^```$/gms, '');
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

it('links between the documents lead somewhere, also to their headings', () => {
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'SECURITY.md',
    'llms.txt',
    'skills/crosstalk/SKILL.md',
    ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name)),
  ];
  const broken = documents.flatMap((document) =>
    [
      ...readFileSync(join(root, document), 'utf8').matchAll(
        /\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g,
      ),
    ]
      .filter(([, target = '', anchor]) => {
        const path = target === '' ? join(root, document) : join(root, document, '..', target);
        return !existsSync(path) || (anchor !== undefined && !anchorsOf(path).has(anchor));
      })
      .map(([link]) => `${document}: ${link}`),
  );
  expect(broken).toEqual([]);
});

it('the index of the decisions lists each page, and comments name pages that exist', () => {
  const pages = readdirSync(join(root, 'docs/decisions')).filter((name) => name !== 'README.md');
  const index = readFileSync(join(root, 'docs/decisions/README.md'), 'utf8');
  expect([...index.matchAll(/\]\((\d\d-[^)]+)\)/g)].map(([, page]) => page)).toEqual(pages.sort());
  const named = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .flatMap((name) => [
      ...readFileSync(join(root, 'src', name), 'utf8').matchAll(/docs\/decisions\/([\w-]+\.md)/g),
    ])
    .map(([, page = '']) => page);
  expect(named.filter((page) => !pages.includes(page))).toEqual([]);
});
