// @module-tag long
import { describe, expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`hosts by their own word ${UNLESS}`, () => {
  const browsing = new Browsing();

  it(
    'the page says what a host last said of itself, how old that is, and leads to the thread',
    SLOW,
    async () => {
      const bus = new Bus();
      const server = await bus.host('server', { worker: 'true' });
      const laptop = await bus.host('laptop', { idle: 'true' });
      const relPath = await laptop.send('worker', 'take your time');
      const mail = { actor: 'worker', channel: laptop.channel(), relPath };
      const at = new Date(Date.now() - 3 * 3_600_000).toISOString();
      const items = Array.from({ length: 8 }, () => ({ ...mail, since: at }));
      const none = { count: 0, messages: [] };
      const report = { at, running: none, waiting: { count: 40, messages: items }, failed: none };
      server.edit({ 'data/hosts/server.json': JSON.stringify(report) });
      await laptop.news();
      const web = await Web.start(laptop);
      const window = await browsing.window(web, { viewport: PHONE });
      await window.open('/now');
      const hosts = window.page.getByRole('region', { name: 'Hosts' });
      await soon(() => hosts.innerText()).toMatch(
        /server\s+has written nothing lately\s+3 h ago it said: 0 running, 40 waiting, 0 failed\s+waiting: worker, since /,
      );
      const links = hosts.getByRole('link', { name: 'worker' });
      expect(await links.count()).toBe(3);
      await links.first().click();
      await soon(() => window.page.url()).toContain('/t/');
      expect(window.errors).toEqual([]);
      await window.close();
    },
  );
});
