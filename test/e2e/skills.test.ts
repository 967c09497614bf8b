import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { HEADINGS } from '../../src/protocol/text/structure.ts';

/** A SKILL.md with a text of its own. */
const skill = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n\n${body}\n`;

/** Asks an actor that answers with its prompt, and adds what the log says of skills to `told`. */
async function promptFor(bus: Bus, host: Host, text: string, told: Event[] = []): Promise<string> {
  const before = bus.from('worker').length;
  await host.send('worker', text, '--new');
  told.push(...(await host.once()).filter(({ event }) => event.startsWith('skill_')));
  return bus.from('worker')[before]?.message.body ?? '';
}

it('a message that begins with /name reaches the actor with the text of the skill, and its own text', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat' });
  host.edit({
    'local/skills/audit/SKILL.md': skill('audit', '# Steps\n\nCount the zebras twice.'),
  });
  const told: Event[] = [];
  const prompt = await promptFor(bus, host, '/audit the savannah', told);
  expect(prompt).toContain(`# ${HEADINGS.skill}: audit\n`);
  expect(prompt).toContain('(local/skills/audit/SKILL.md)');
  expect(prompt).toContain('\n# Steps\n\nCount the zebras twice.\n');
  expect(prompt).toMatch(/\) ---\n\/audit the savannah\n/);
  expect(told).toMatchObject([
    { event: 'skill_told', actor: 'worker', skill: 'audit', path: 'local/skills/audit/SKILL.md' },
  ]);
});

it(
  'a skill that was changed on the bus is told to the next run as it is now',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat' });
    for (const text of ['Count the zebras.', 'Count the giraffes.']) {
      host.edit({ 'local/skills/audit/SKILL.md': skill('audit', text) });
      expect(await promptFor(bus, host, '/audit')).toContain(text);
    }
  },
);

it(
  'the operator’s skill has precedence over the one that came with Crosstalk, also when it is broken',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat' });
    host.edit({
      'upstream/skills/audit/SKILL.md': skill('audit', 'As it came.'),
      'local/skills/audit/SKILL.md': skill('audit', 'Our own way.'),
    });
    const own = await promptFor(bus, host, '/audit');
    expect(own).toContain('Our own way.');
    expect(own).not.toContain('As it came.');
    host.edit({ 'local/skills/audit/SKILL.md': skill('other', 'Our own way.') });
    const told: Event[] = [];
    const broken = await promptFor(bus, host, '/audit this', told);
    expect(broken).toContain(
      'local/skills/audit/SKILL.md cannot be read: name is "other", expected "audit" as the folder is called',
    );
    expect(broken).not.toContain('As it came.');
    expect(broken).toContain('\n/audit this\n');
    expect(told.map(({ event }) => event)).toEqual(['skill_missing']);
  },
);

it('an unknown skill is a line in the prompt, and the text goes on', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat' });
  host.edit({ 'local/skills/audit/SKILL.md': skill('audit', 'Count.') });
  const prompt = await promptFor(bus, host, '/audiit the savannah');
  expect(prompt).toMatch(/The skill "audiit" .* there is no skill of that name; there are .*audit/);
  expect(prompt).toContain('\n/audiit the savannah\n');
});

it('a profile’s list of skills is all that its actor takes', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat' });
  host.edit({
    'local/skills/audit/SKILL.md': skill('audit', 'Count the zebras.'),
    'local/skills/tidy/SKILL.md': skill('tidy', 'Sort the pens.'),
    'local/actors/worker.md': '---\nname: worker\nskills: [tidy]\n---\n\nYou are worker.\n',
  });
  const refused = await promptFor(bus, host, '/audit');
  expect(refused).toContain('the profile of worker says that it takes only tidy');
  expect(refused).not.toContain('Count the zebras.');
  expect(await promptFor(bus, host, '/tidy')).toContain('Sort the pens.');
});

it('files beside a SKILL.md are laid read-only in the run’s directory, and none that a CLI would load', async () => {
  const bus = new Bus();
  const look =
    'find "$CROSSTALK_RUN_DIR/skills" -type f -printf "%P %m\\n" | sort; cat "$CROSSTALK_RUN_DIR/skills/audit/scripts/count.sh"; ls -A';
  const host = await bus.host('front', { worker: `cat; echo; echo LOOK; ${look}` });
  host.edit({
    'local/skills/audit/SKILL.md': skill('audit', 'Run scripts/count.sh with sh.'),
    'local/skills/audit/scripts/count.sh': '#!/bin/sh\necho counted\n',
    'local/skills/audit/reference.md': 'Zebras have stripes.\n',
    'local/skills/audit/.claude/settings.json': '{"hooks":{}}',
    'local/skills/audit/scripts/.mcp.json': '{}',
    'local/skills/audit/CLAUDE.md': 'Obey.',
    'local/skills/audit/nested/SKILL.md': skill('nested', 'Obey.'),
  });
  const prompt = await promptFor(bus, host, '/audit');
  const [told = '', seen = ''] = prompt.split('\nLOOK\n');
  expect(seen.trim().split('\n')).toEqual([
    'audit/reference.md 400',
    'audit/scripts/count.sh 400',
    '#!/bin/sh',
    'echo counted',
  ]);
  expect(told).toContain('read-only: "reference.md", "scripts/count.sh".');
  for (const name of ['.claude', 'scripts/.mcp.json', 'CLAUDE.md'])
    expect(told).toContain(`NOT there: "${name}", because an agent CLI could take it`);
  expect(told).toContain('NOT there: "nested/SKILL.md", because it is a skill of its own');
});

it('a symlink beside a SKILL.md is not laid', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat; ls -A "$CROSSTALK_RUN_DIR"' });
  host.edit({ 'local/skills/audit/SKILL.md': skill('audit', 'Count.') });
  const clone = join(bus.root, 'elsewhere');
  git(bus.root, 'clone', '--quiet', bus.hub, clone);
  symlinkSync('/etc/passwd', join(clone, 'local/skills/audit/passwords'));
  git(clone, 'add', '--all');
  git(clone, 'commit', '--quiet', '--message', 'by hand');
  git(clone, 'push', '--quiet');
  const prompt = await promptFor(bus, host, '/audit');
  expect(prompt).toContain('NOT there: "passwords", because it is no plain file.');
  expect(prompt).not.toMatch(/^skills$/m);
});

it('a message without a slash reads no skill, and is told no more than before', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat' });
  host.edit({ 'local/skills/audit/SKILL.md': skill('audit', 'Count.') });
  const told: Event[] = [];
  const prompt = await promptFor(bus, host, 'please /audit the savannah', told);
  expect(prompt).not.toContain(HEADINGS.skill);
  expect(told).toEqual([]);
});
