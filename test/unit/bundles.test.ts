import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(repository, 'dist/page');
const files = filesIn('dist/page');

function filesIn(name: string): string[] {
  return readdirSync(join(repository, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

it('nothing that is built and packed names the folder in which it was built', () => {
  const packed = [...filesIn('dist'), ...filesIn('man')].filter((file) => !file.endsWith('.cache'));
  expect(packed.length).toBeGreaterThan(20);
  const naming = packed.filter((file) => readFileSync(file).includes(repository));
  expect(naming).toEqual([]);
});

it('the page has at most 150 KB, compressed', () => {
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
  expect(files.length).toBeGreaterThan(2);
  expect(bytes).toBeLessThan(150_000);
});

it('the page has nothing inline and names no other origin to load from', () => {
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(html).not.toMatch(/<script(?![^>]* src="\/assets\/)[^>]*>|<style|style=|\son\w+=/);
  expect(html).not.toMatch(/(src|href)="(?!\/assets\/)/);
});
