import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../dist/page', import.meta.url));
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

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
