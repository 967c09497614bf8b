// @module-tag long
import { expect, it, describe } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { Program } from '../support/process.ts';
import { Web } from '../support/web.ts';

/** Seconds that the page is left alone. */
const QUIET_S = 10;

const textOf = (window: Window, name: string): Promise<string> =>
  window.page.getByRole('region', { name }).innerText();

describe.skipIf(!hasBrowser)(`the page and the dispatcher ${UNLESS}`, () => {
  const browsing = new Browsing();

  it(
    'what a quiet dispatcher said stays fresh, and a killed one is gone from the page',
    SLOW,
    async () => {
      const bus = new Bus();
      const host = await bus.host('front', { clerk: 'true' });
      const dispatcher = new Program(host, 'dispatch', '--host', 'front', '--interval', '0.2');
      const web = await Web.start(host);
      const window = await browsing.window(web);
      await window.open('/now');
      const begun = Date.now();
      const heartbeat = async (): Promise<number> => {
        const text = await textOf(window, 'Hosts');
        return Number(/heartbeat (\d+) s ago/.exec(text)?.[1] ?? Number.NaN);
      };
      await soon(heartbeat).toBeLessThan(QUIET_S);
      await soon(() => Date.now() - begun).toBeGreaterThan(QUIET_S * 1000);
      await soon(heartbeat).toBeLessThan(QUIET_S / 2);
      await soon(() => textOf(window, 'Verdict')).toContain('healthy');

      expect(await dispatcher.stop('SIGKILL')).toBe('SIGKILL');
      await soon(() => textOf(window, 'Hosts')).toContain('no heartbeat');
      await soon(() => textOf(window, 'Verdict')).toContain('no dispatcher is running here');
      const body = await window.page.locator('body').innerText();
      expect(body.match(/no dispatcher/gi)).toHaveLength(1);
      await window.close();
    },
  );
});
