import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { WebNow } from '../../src/api/api.ts';
import { Bus } from '../support/bus.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Web } from '../support/web.ts';

/** What a page of somebody else tries in the browser of somebody who is let in; returns what it learned. */
const ATTACK = `async (target) => {
  const learned = [];
  const tried = [];
  const attempt = async (name, work) => {
    tried.push(name);
    try {
      const got = await Promise.race([work(), new Promise((end) => setTimeout(end, 2000))]);
      if (got !== undefined && got !== '') learned.push(name + ': ' + String(got).slice(0, 80));
    } catch {}
  };
  const body = JSON.stringify({ to: 'nobody', body: 'forged' });
  const paths = ['/api/now', '/%61pi/now', '//api/now', '/api/events', '/%61pi/events', '/metrics', '/api/session'];
  for (const path of paths)
    for (const mode of ['cors', 'no-cors'])
      await attempt('read ' + mode + ' ' + path, async () => {
        const answer = await fetch(target + path, { mode, credentials: 'include', signal: AbortSignal.timeout(1000) });
        return answer.type === 'opaque' ? '' : answer.text();
      });
  for (const path of ['/api/send', '/%61pi/send', '//api//send', '/api/x/%2e%2e/send', '/api/wake', '/%61pi/wake', '/api/dead-letters/all/retry'])
    for (const [mode, type] of [['cors', 'application/json'], ['no-cors', 'text/plain'], ['no-cors', 'application/x-www-form-urlencoded'], ['no-cors', undefined]])
      await attempt('write ' + mode + ' ' + type + ' ' + path, async () => {
        const sent = type === undefined ? new Blob([body]) : body;
        const headers = type === undefined ? {} : { 'content-type': type };
        const answer = await fetch(target + path, { method: 'POST', mode, credentials: 'include', headers, body: path.includes('send') ? sent : undefined });
        return answer.type === 'opaque' ? '' : answer.text();
      });
  await attempt('beacon', async () => void navigator.sendBeacon(target + '/api/wake'));
  await attempt('beacon with a body', async () => void navigator.sendBeacon(target + '/api/send', body));
  for (const method of ['DELETE', 'PUT', 'OPTIONS'])
    await attempt(method, async () => (await fetch(target + '/api/now', { method, credentials: 'include' })).text());
  await attempt('stream', () => new Promise((heard) => {
    const source = new EventSource(target + '/api/events', { withCredentials: true });
    source.addEventListener('hello', (event) => heard(event.data));
    source.onerror = () => { source.close(); heard(''); };
  }));
  for (const path of ['/', '/c/general', '/api/openapi.json', '/assets/x.js'])
    await attempt('frame ' + path, () => new Promise((seen) => {
      const frame = document.createElement('iframe');
      frame.src = target + path;
      frame.onload = () => { try { seen(frame.contentDocument.body.innerText); } catch { seen(''); } };
      document.body.append(frame);
    }));
  for (const tag of ['script', 'img', 'link'])
    await attempt(tag, () => new Promise((seen) => {
      const element = document.createElement(tag);
      element.onload = () => seen('loaded');
      element.onerror = () => seen('');
      if (tag === 'link') { element.rel = 'stylesheet'; element.href = target + '/api/now'; }
      else element.src = target + '/api/now';
      document.head.append(element);
    }));
  await attempt('form', () => new Promise((sent) => {
    const frame = document.createElement('iframe');
    frame.name = 'sink';
    document.body.append(frame);
    const form = document.createElement('form');
    form.method = 'post';
    form.enctype = 'text/plain';
    form.action = target + '/api/send';
    form.target = 'sink';
    const field = document.createElement('input');
    field.name = '{"to":"nobody","body":"forged","from":"';
    field.value = '"}';
    form.append(field);
    document.body.append(form);
    frame.onload = () => setTimeout(() => sent(''), 200);
    form.submit();
  }));
  return { learned, tried: tried.length };
}`;

/** Another server of this machine, with a page of its own. */
async function otherPage(): Promise<number> {
  const server = createServer(({ url }, answer) => {
    const name = url?.slice(1) ?? '';
    answer.setHeader('content-type', 'text/html');
    // Cookies are not separated by port, so it can write those that our server gets.
    if (name.startsWith('crosstalk-'))
      answer.setHeader('set-cookie', [
        `${name}=forged; Path=/api`,
        `${name}=forged2; Path=/api/now`,
        `${name}=; Path=/c`,
      ]);
    answer.end('<!doctype html><body>another page');
  }).listen(0);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe.skipIf(!hasBrowser)(`a page of somebody else ${UNLESS}`, () => {
  const browsing = new Browsing();

  it.each(['127.0.0.1', 'localhost'])(
    'learns nothing and changes nothing, also where its site is the same because only the port differs (from %s)',
    { tags: 'long' },
    async (name) => {
      const bus = new Bus();
      const host = await bus.host('front', {});
      const dispatcher = host.start();
      const web = await Web.start(host);
      const port = await otherPage();
      await soon(async () => (await web.get<WebNow>('/api/now')).dispatcher !== null).toBe(true);
      const window = await browsing.window(web);
      const before = dispatcher.count('woken');
      const page = await window.context.newPage();
      await page.goto(`http://${name}:${String(port)}/`);
      const { learned, tried } = await page.evaluate<{ learned: string[]; tried: number }>(
        `(${ATTACK})(${JSON.stringify(window.origin)})`,
      );
      expect(learned).toEqual([]);
      expect(tried).toBeGreaterThan(50);
      const opened = await page.evaluate<string>(
        `new Promise((end) => {
          const other = open(${JSON.stringify(`${window.origin}/api/now`)});
          setTimeout(() => { try { end(other.document.body.innerText); } catch { end(''); } }, 1000);
        })`,
      );
      expect(opened).toBe('');
      await host.run('sync');
      expect(bus.messages()).toEqual([]);
      expect(dispatcher.count('woken')).toBe(before);
      await window.close();
    },
  );

  it('cannot shut out who is let in by writing cookies of its own', SLOW, async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const web = await Web.start(host);
    const port = await otherPage();
    const window = await browsing.window(web);
    const page = await window.context.newPage();
    await page.goto(`http://127.0.0.1:${String(port)}/crosstalk-${String(web.port)}`);
    await window.open(`/c/${host.channel()}`);
    await window.page.getByText(/^\d+ messages?$/).waitFor();
    expect(await window.page.evaluate(`fetch('/api/now').then(({ status }) => status)`)).toBe(200);
    await window.close();
  });
});
