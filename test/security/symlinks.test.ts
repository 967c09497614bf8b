import { symlinkSync, mkdirSync, mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';

const LINK = '2026/06/09/190000000Z-0a1b2c3d.md';
const REPLY = '2026/06/09/190000001Z-0a1b2c3e.md';

/** Pushes a symlink whose target looks like the content of a file. */
function pushLink(bus: Bus, path: string, target: string): void {
  const clone = mkdtempSync(join(bus.root, 'clone-'));
  git(clone, 'clone', '--quiet', bus.hub, '.');
  mkdirSync(dirname(join(clone, path)), { recursive: true });
  symlinkSync(target, join(clone, path));
  git(clone, 'add', '--all');
  git(clone, 'commit', '--quiet', '--message', 'a link');
  git(clone, 'push', '--quiet');
}

it('a symlink is no message whichever way it is come upon: nobody is woken by an answer to one', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo woken' });
  const folder = `data/channels/${host.channel()}`;
  const header = 'type: text\ntimestamp: 2026-06-09T19:00:00Z\n';
  pushLink(bus, `${folder}/${LINK}`, `---\nfrom: worker\nto: peer\n${header}---\n`);
  host.edit({
    [`${folder}/${REPLY}`]: `---\nfrom: peer\nto: worker\n${header}re: ${LINK}\n---\n\nhello\n`,
  });
  const log = await host.once();
  expect(log.filter(({ event }) => event === 'dispatch_start')).toEqual([]);
  const malformed = log.filter(({ event }) => event === 'message_malformed');
  expect(malformed).toMatchObject([{ path: `${folder}/${LINK}`, reason: 'a symlink' }]);
  expect(await host.run('read', LINK)).toMatchObject({ code: 1 });
  expect((await host.run('explain', REPLY, 'worker')).out).not.toContain('woken');
  expect(bus.from('worker').filter(({ message }) => message.host === 'front')).toEqual([]);
});
