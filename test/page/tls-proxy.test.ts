// @module-tag long
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Bus, scratch } from '../support/bus.ts';
import { Browsing, hasBrowser, SLOW, soon } from '../support/browser.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const OPENSSL = '/usr/bin/openssl';
const canRun = hasBrowser && existsSync(OPENSSL);

/** The key and the certificate of a server that nobody vouches for. */
function certificate(): { key: Buffer; cert: Buffer } {
  const folder = scratch();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
  execFileSync(OPENSSL, ['req', ...made, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

/** A proxy that speaks https, and passes the Host header on or writes its own. */
async function tlsProxy(
  hosts: 'kept' | 'rewritten',
): Promise<{ port: number; to: (port: number) => void }> {
  let target = 0;
  const proxy = createServer(certificate(), (got, answer) => {
    const headers = { ...got.headers };
    if (hosts === 'rewritten') headers.host = `127.0.0.1:${String(target)}`;
    const where = { host: '127.0.0.1', port: target, method: got.method, path: got.url };
    const next = request({ ...where, headers }, (from) => {
      answer.writeHead(from.statusCode ?? 0, from.headers);
      from.pipe(answer);
      answer.on('close', () => from.destroy());
    });
    next.on('error', () => answer.destroy());
    got.pipe(next);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port } = proxy.address() as AddressInfo;
  return {
    port,
    to: (at) => {
      target = at;
    },
  };
}

describe.skipIf(!canRun)(
  'the page behind a TLS proxy (skipped unless Debian’s chromium and openssl are installed)',
  () => {
    const browsing = new Browsing();

    it.each(['kept', 'rewritten'] as const)(
      'is live and can write, with a cookie that only https carries, when the Host is %s',
      SLOW,
      async (hosts) => {
        const bus = new Bus();
        const host = await bus.host('front', {});
        const { port, to } = await tlsProxy(hosts);
        const web = await Web.start(host, '--public-url', `https://localhost:${String(port)}`);
        to(web.port);
        const window = await browsing.window(web, { ignoreHTTPSErrors: true });
        const { page } = window;
        expect(await window.context.cookies()).toMatchObject([
          { name: `crosstalk-${String(port)}`, secure: true, httpOnly: true, sameSite: 'Strict' },
        ]);
        await window.open(`/c/${host.channel()}`);
        await page.getByText(/^\d+ messages?$/).waitFor();
        await page.getByRole('combobox', { name: 'To' }).fill('nobody');
        await page.getByRole('textbox', { name: /^Message/ }).fill('through the proxy');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.locator('article', { hasText: 'through the proxy' }).waitFor();
        await until('it on the remote', () => bus.messages().length === 1);
        await soon(() => page.locator('.live').innerText()).toBe('');
        expect(window.errors).toEqual([]);
        await window.close();
      },
    );
  },
);
