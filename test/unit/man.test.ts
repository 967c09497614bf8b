import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EXIT_CODES } from '../../src/cli/help/facts.ts';
import { sectionOf } from '../../src/cli/help/sections.ts';
import { manualPage } from '../../src/cli/man.ts';
import { escaped, roffArgument } from '../../src/cli/man.ts';
import { optionsOf } from '../../src/cli/command/spec.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { command } from '../support/command.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const visible = COMMANDS.filter(({ hidden }) => hidden !== true);
const page = manualPage('6.0.0', new Date('2026-06-09T00:00:00Z'));
const has = (program: string): boolean =>
  spawnSync('/bin/sh', ['-c', `command -v ${program}`]).status === 0;

function written(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'man-')), 'crosstalk.1');
  writeFileSync(file, page);
  return file;
}

/** The page as a reader sees it, on one line. */
function rendered(): string {
  const shown = execFileSync('groff', ['-man', '-Tutf8', '-P-c', '-P-b', '-P-u', written()], {
    encoding: 'utf8',
  });
  return shown.replaceAll('−', '-').replaceAll('‐\n', '-').replace(/\s+/g, ' ');
}

describe('the manual page', () => {
  it('names every command with its options and its example', () => {
    for (const spec of visible) {
      expect(page).toContain(`.SS \\fB${escaped(spec.name)}\\fR`);
      expect(page).toContain(spec.example.split('\n').map(escaped).join('\n'));
      for (const [, description] of optionsOf(spec)) expect(page).toContain(escaped(description));
    }
  });

  it.skipIf(!has('groff'))(
    'groff finds nothing wrong with it (skipped unless groff is there)',
    () => {
      const { stderr, status } = spawnSync('groff', ['-man', '-ww', '-z', written()], {
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([0, '']);
    },
  );

  it.skipIf(!has('mandoc'))(
    'mandoc finds nothing wrong with it (skipped unless mandoc is there)',
    () => {
      const { stdout, status } = spawnSync('mandoc', ['-Tlint', '-Wwarning', written()], {
        encoding: 'utf8',
      });
      expect([status, stdout]).toEqual([0, '']);
    },
  );

  it.skipIf(!has('groff'))(
    'shows what is typed as it is typed (skipped unless groff is there)',
    () => {
      const shown = rendered();
      expect(shown).toContain('crosstalk send --to concierge "what changed this week?"');
      expect(shown).toContain('--new');
      expect(shown).toContain('~/bus-2026-08.bundle');
      expect(shown).toContain('this machine’s host file');
    },
  );
});

describe('text in roff', () => {
  it.each([
    ['.TH is no request', '\\&.TH is no request'],
    ['one\n.two', 'one\n\\&.two'],
    ["'br", '\\(aqbr'],
    ['a\\fBb', 'a\\efBb'],
    ['--to-all', '\\-\\-to\\-all'],
  ])('%j stays text', (text, roff) => {
    expect(escaped(text)).toBe(roff);
  });

  it('a quote does not end an argument', () => {
    expect(roffArgument('say "hi"')).toBe('"say \\(dqhi\\(dq"');
  });
});

describe('help', () => {
  it('has a section for every command', () => {
    expect(visible.filter(({ name }) => sectionOf(name) === 'Other')).toEqual([]);
  });

  it('shows ten commands, those of every day, and where the others are', async () => {
    const { out, code } = await command(['--help'], { cwd: root });
    const shown = [...out.matchAll(/^ {2}([a-z]+) (?:\[|<| )/gm)].map(([, name]) => name);
    expect([code, shown.filter((name) => name !== 'help' && name !== 'crosstalk')]).toEqual([
      0,
      ['ask', 'send', 'reply', 'inbox', 'thread', 'chat', 'status', 'dispatch', 'init', 'actor'],
    ]);
    expect(out).toContain('More: crosstalk help --all,');
    for (const other of [['help'], ['-h']])
      expect((await command(other, { cwd: root })).out).toBe(out);
    const near = await command(['explian'], { cwd: root });
    expect(near.err).toContain('Did you mean explain?');
  });

  it('--all shows every command once, and what exit codes mean', async () => {
    const { out, code } = await command(['help', '--all'], { cwd: root });
    expect((await command(['--help', '--all'], { cwd: root })).out).toBe(out);
    expect(code).toBe(0);
    for (const name of new Set(visible.map((spec) => spec.name.split(' ')[0]))) {
      expect(out.match(new RegExp(`^  ${String(name)}\\b`, 'gm')), name).toHaveLength(1);
    }
    for (const [exit, meaning] of EXIT_CODES) expect(out).toContain(`${exit} ${meaning}`);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});
