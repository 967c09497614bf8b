import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { command } from '../support/command.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const template = (path: string): string =>
  readFileSync(join(root, 'template/upstream', path), 'utf8');

it('what a run is told around a short question takes at most 4 kB, with the profiles of the template', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { concierge: 'cat', worker: 'cat' });
  host.edit({
    'upstream/PROTOCOL.md': template('PROTOCOL.md'),
    'upstream/actors/concierge.md': template('actors/concierge.md'),
    'upstream/actors/worker.md': template('actors/worker.md'),
  });
  await host.run('sync');
  for (const actor of ['concierge', 'worker']) {
    await host.send(actor, 'Is it ready?', '--new');
    await host.once();
    const prompt = bus.from(actor)[0]?.message.body ?? '';
    expect(prompt).toContain(`# Your profile: ${actor}`);
    expect(prompt).toContain('# Who else is here');
    expect(prompt).toMatch(/ready\?\s*$/);
    expect(Buffer.byteLength(prompt), actor).toBeLessThan(4096);
  }
});

it('every topic that the prompt names is in the guide, and the guide has no other', async () => {
  const named =
    /crosstalk guide <topic>`, of ([a-z,\s]+)\./.exec(template('PROTOCOL.md'))?.[1] ?? '';
  const topics = named.split(',').map((topic) => topic.trim());
  const all = await command(['guide', '--json'], { cwd: root });
  const texts = JSON.parse(all.out) as { topic: string; title: string; text: string }[];
  expect(texts.map(({ topic }) => topic)).toEqual([...topics].sort());
  for (const { topic, title, text } of texts) {
    const one = await command(['guide', topic], { cwd: root });
    expect([one.code, one.out]).toEqual([0, text]);
    expect(text).toMatch(new RegExp(`^# ${title}\n`));
  }
  const unknown = await command(['guide', '../../README'], { cwd: root });
  expect([unknown.code, unknown.out]).toEqual([1, '']);
  expect(unknown.err).toMatch(
    /^crosstalk guide: no topic "..\/..\/README" in the guide; it has channels, .*\n$/,
  );
});

it('the guide names no command and no option that a run has not', async () => {
  const all = await command(['guide', '--json'], { cwd: root });
  const text = (JSON.parse(all.out) as { text: string }[]).map((one) => one.text).join('\n');
  const { COMMANDS } = await import('../../src/cli/commands.ts');
  const { optionsOf, longName } = await import('../../src/cli/command/spec.ts');
  const allowed = COMMANDS.filter(({ inRun }) => inRun !== undefined);
  const said = [...text.matchAll(/`(?:crosstalk )((?:[a-z]+)(?: [a-z]+)?)([^`]*)`/g)];
  expect(said.length).toBeGreaterThan(20);
  for (const [whole, words = '', rest = ''] of said) {
    const spec =
      allowed.find(({ name }) => name === words) ??
      allowed.find(({ name }) => name === words.split(' ')[0]);
    expect(spec, whole).toBeDefined();
    const options = spec === undefined ? [] : optionsOf(spec).map(([flags]) => longName(flags));
    for (const [, option = ''] of rest.matchAll(/--([a-z-]+)/g))
      expect(options, whole).toContain(option);
  }
});

it('a run reads the guide', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: 'cat >/dev/null; crosstalk guide files; crosstalk guide nothing 2>&1; true',
  });
  await host.send('worker', 'go');
  await host.once();
  const said = bus.from('worker')[0]?.message.body ?? '';
  expect(said).toContain('# Files');
  expect(said).toContain('no topic "nothing" in the guide');
});
