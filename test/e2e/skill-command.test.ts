import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseSkill } from '../../src/protocol/files/skill.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';

/** A folder with a SKILL.md, as somebody has it outside of the transport. */
function folder(bus: Bus, files: Record<string, string | Buffer>): string {
  const dir = join(bus.root, 'mine');
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  return dir;
}

const SKILL = '---\nname: tidy\ndescription: Tidies up.\n---\n\nSort the pens.\n';

it('skill add puts a folder on the bus, which skill list and skill show tell of, and a second one replaces it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const dir = folder(bus, {
    'SKILL.md': SKILL,
    'scripts/sort.sh': 'sort pens\n',
    'CLAUDE.md': 'Obey.\n',
    '.git/config': '[core]\n',
  });
  symlinkSync('/etc/passwd', join(dir, 'passwords'));
  const added = await host.run('skill', 'add', dir);
  expect(added.code, added.err).toBe(0);
  expect(added.out).toMatch(/^Added: local\/skills\/tidy\/SKILL\.md;/);
  for (const name of ['.git', 'CLAUDE.md', 'passwords'])
    expect(added.err).toContain(`left out: "${name}", because`);
  const onBus = (): string[] =>
    git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'local/skills/').trim().split('\n');
  expect(onBus()).toEqual(['local/skills/tidy/SKILL.md', 'local/skills/tidy/scripts/sort.sh']);
  const listed = await host.run('skill', 'list');
  expect(listed.out).toMatch(/^tidy +local +Tidies up\.$/m);
  expect(listed.out).toMatch(/^review +upstream +Reviews /m);
  const shown = await host.run('skill', 'show', 'tidy', '--json');
  expect(JSON.parse(shown.out)).toEqual({
    name: 'tidy',
    description: 'Tidies up.',
    path: 'local/skills/tidy/SKILL.md',
    problem: null,
    body: 'Sort the pens.\n',
    files: ['scripts/sort.sh'],
    left: [],
  });
  const other = join(bus.root, 'other');
  mkdirSync(other);
  writeFileSync(join(other, 'SKILL.md'), SKILL.replace('pens', 'cups'));
  expect((await host.run('skill', 'add', other)).code).toBe(0);
  expect(onBus()).toEqual(['local/skills/tidy/SKILL.md']);
  expect((await host.run('skill', 'show', 'tidy')).out).toContain('Sort the cups.');
});

it.each<[string, Record<string, string | Buffer>, RegExp]>([
  ['without a SKILL.md', { 'README.md': 'x' }, /has no SKILL\.md; name the folder that holds it/],
  ['with a broken one', { 'SKILL.md': 'Sort the pens.' }, /is no skill: no frontmatter/],
  [
    'with a name that is a path',
    { 'SKILL.md': SKILL.replace('name: tidy', 'name: ../tidy') },
    /is no skill: name is "\.\.\/tidy"/,
  ],
  [
    'with bytes that are no text',
    { 'SKILL.md': SKILL, 'logo.png': Buffer.from([0x89, 0x50, 0xff, 0x00]) },
    /logo\.png" is no UTF-8 text/,
  ],
  [
    'with a file that is too large',
    { 'SKILL.md': SKILL, 'big.txt': 'x'.repeat((1 << 20) + 1) },
    /big\.txt" has 1048577 bytes/,
  ],
])(
  'skill add refuses a folder %s, and writes nothing',
  { tags: 'long' },
  async (_, files, reason) => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const before = git(bus.hub, 'rev-parse', 'main');
    const refused = await host.run('skill', 'add', folder(bus, files));
    expect([refused.code, refused.out]).toEqual([2, '']);
    expect(refused.err).toMatch(reason);
    expect(git(bus.hub, 'rev-parse', 'main')).toBe(before);
  },
);

it('a skill that cannot be read is listed with the reason, shown on one line', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  host.edit({
    'local/skills/tidy/SKILL.md':
      '---\nname: "tidy\\x1b[2J"\ndescription: d\n---\n\nSort the pens.\n',
    'local/skills/Odd Name/SKILL.md': SKILL,
  });
  const { out } = await host.run('skill', 'list');
  expect(out).toMatch(/^tidy +local +cannot be read: name is "tidy.*", expected "tidy"/m);
  expect(out).not.toContain('\x1b');
  expect(out).not.toContain('Odd');
  const shown = await host.run('skill', 'show', 'tidy');
  expect([shown.code, shown.err]).toEqual([1, expect.stringContaining('cannot be read: name is')]);
  const unknown = await host.run('skill', 'show', 'reveiw');
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('did you mean review?')]);
});

it('a run may list and show skills, and add none', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker:
      'cat >/dev/null; crosstalk skill list; crosstalk skill show standup; mkdir s; crosstalk skill add s 2>&1; true',
  });
  await host.send('worker', 'look', '--new');
  await host.once();
  const said = bus.from('worker')[0]?.message.body ?? '';
  expect(said).toMatch(/^review +upstream/m);
  expect(said).toContain('**Stuck**');
  expect(said).toContain('not for a run, skills are for every actor');
});

it(
  'upgrade brings the skills of this version, takes away what it has not, and leaves the operator’s own',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    host.remove('upstream/skills/review/SKILL.md');
    host.edit({
      'upstream/skills/gone/SKILL.md': SKILL,
      'upstream/skills/standup/SKILL.md': 'changed',
      'local/skills/tidy/SKILL.md': SKILL,
    });
    const checked = await host.run('upgrade', '--check', '--json');
    expect(JSON.parse(checked.out)).toMatchObject({
      added: ['upstream/skills/review/SKILL.md'],
      changed: ['upstream/skills/standup/SKILL.md'],
      removed: ['upstream/skills/gone/SKILL.md'],
    });
    expect((await host.run('upgrade')).code).toBe(0);
    const names = git(
      bus.hub,
      'ls-tree',
      '-r',
      '--name-only',
      'main',
      'upstream/skills/',
      'local/skills/',
    );
    expect(names.trim().split('\n').sort()).toEqual([
      'local/skills/tidy/SKILL.md',
      'upstream/skills/consolidate/SKILL.md',
      'upstream/skills/remember/SKILL.md',
      'upstream/skills/review/SKILL.md',
      'upstream/skills/standup/SKILL.md',
    ]);
    expect(JSON.parse((await host.run('upgrade', '--check', '--json')).out)).toMatchObject({
      up_to_date: true,
    });
  },
);

it('the skills that come with this version are in the form that they are read in', () => {
  const folders = readdirSync('template/upstream/skills');
  expect(folders.sort()).toEqual(['consolidate', 'remember', 'review', 'standup']);
  for (const name of folders) {
    const text = readFileSync(join('template/upstream/skills', name, 'SKILL.md'), 'utf8');
    expect(parseSkill(text, name)).toMatchObject({ ok: true });
    expect(readdirSync(join('template/upstream/skills', name))).toEqual(['SKILL.md']);
  }
});
