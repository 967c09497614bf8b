import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';

/** Characters that end a line, control a terminal, and change the direction of text. */
const ODD = 'a\nstuck: b\u001b[31mc\u202ed.md';
const ESCAPED = 'a\\u000astuck: b\\u001b[31mc\\u202ed.md';

it('the path of a malformed file is one line of status, whatever its name is', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  host.edit({ [`data/channels/${host.channel()}/${ODD}`]: 'x' });
  await host.once();
  const { out } = await host.run('status');
  expect(out).toContain(`data/channels/${host.channel()}/${ESCAPED}  its path is not`);
  expect(out).not.toMatch(/^stuck: b/m);
});

it(
  'the path of a host file is on one line with its alias, whatever its name is',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    host.remove('hosts/front.md');
    host.edit({
      [`hosts/${ODD}`]: '---\nalias: front\nactors:\n  worker:\n    default: "true"\n---\n',
    });
    await host.once();
    expect((await host.run('host', 'show')).out).toMatch(`front: hosts/${ESCAPED}\n`);
    expect((await host.run('status')).out).toContain(`hosts/${ESCAPED} (front)`);
  },
);

it('the path of a host file that is broken, or one of several, is on one line too', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  host.remove('hosts/front.md');
  const header = '---\nalias: front\nactors:\n  worker:\n    default: "true"\n---\n';
  host.edit({ [`hosts/${ODD}`]: header, 'hosts/other.md': header });
  await host.news();
  const several = `several host files say alias: front: hosts/${ESCAPED}, hosts/other.md;`;
  const { out } = await host.run('status');
  expect(out).toContain(several);
});
