// @module-tag long
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { Nats, natsMissing, skippedWithoutNats } from '../support/nats.ts';
import { Web } from '../support/web.ts';
import { hearing, withBell } from '../support/with-bell.ts';

const hostsOf = (window: Window): Promise<string> =>
  window.page.getByRole('region', { name: 'Hosts' }).innerText();

describe.skipIf(!hasBrowser || natsMissing() !== undefined)(
  `the page and a bell ${UNLESS}${skippedWithoutNats}`,
  () => {
    const browsing = new Browsing();

    it(
      'the page shows what another machine does while it does it, and of a silent one when it wrote',
      SLOW,
      async () => {
        const bus = new Bus();
        const nats = await Nats.start(bus.root);
        const finish = join(bus.root, 'finish');
        const cli = `while test ! -e ${finish}; do sleep 0.05; done; echo done`;
        const [a, b] = [await bus.host('a', { alpha: 'true' }), await bus.host('b', { beta: cli })];
        await bus.host('c', { gamma: 'true' });
        for (const host of [a, b]) await withBell(host, { bell: nats.url });
        await hearing(a);
        await hearing(b);
        const web = await Web.start(a);
        const window = await browsing.window(web);
        await window.open('/now');
        await soon(() => hostsOf(window)).toMatch(/live, heard .+ ago\s+runs nothing, version \d/);
        await a.send('beta', 'take your time');
        await soon(() => hostsOf(window)).toMatch(/runs beta, version \d/);
        writeFileSync(finish, '');
        await soon(() => hostsOf(window)).toMatch(/runs nothing, version \d/);
        await soon(() => hostsOf(window)).toContain('has written nothing lately');
        await window.close();
      },
    );
  },
);
