import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web, type EventReader } from '../support/web.ts';

const send = (web: Web, body: string): Promise<unknown> =>
  web.post('/api/send', { to: 'nobody', body });

it(
  'many pages that look on see every message once and in order, whoever sends it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { clerk: 'true' });
    const back = await bus.host('back', {});
    front.start();
    const web = await Web.start(front);
    const pages = await Promise.all(Array.from({ length: 30 }, () => web.events()));
    const wanted: string[] = [];
    for (let n = 0; n < 6; n++) {
      wanted.push(`message ${String(n)}`);
      if (n % 3 === 2) await back.send('nobody', `message ${String(n)}`);
      else await send(web, `message ${String(n)}`);
      await until('it on the first page', () => pages[0]?.bodies.length === n + 1);
    }
    for (const page of pages) {
      await until('all of them on each page', () => page.bodies.length === wanted.length);
      expect(page.bodies).toEqual(wanted);
      const ids = page.seen.map(({ id }) => Number(id.split('-')[1]));
      expect(ids).toEqual(ids.map((_, at) => (ids[0] ?? 0) + at));
    }
  },
);

it('a page that comes back gets what it missed, and only that', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { clerk: 'true' });
  host.start();
  const web = await Web.start(host);
  const whole = await web.events();
  const first = await web.events();
  await send(web, 'seen');
  const { id } = await first.saw('messages');
  first.close();
  await send(web, 'missed');
  await until('it on the page that stayed', () => whole.bodies.length === 2);

  const again = await web.events(id);
  await until('what was missed', () => again.bodies.length === 1);
  expect(again.bodies).toEqual(['missed']);
  expect(again.of('hello')).toMatchObject([{ id, data: { event_id: id, resumed: true } }]);
  expect(again.of('reset')).toEqual([]);
  const after = whole.seen.slice(whole.seen.findIndex((event) => event.id === id) + 1);
  await until('the rest', () => again.seen.length >= after.length + 1);
  expect(again.seen.slice(1, after.length + 1)).toEqual(after);
});

it('a page that asks for events of another server, or with nonsense, is told to load all again', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const web = await Web.start(host);
  for (const lastId of ['00000000-3', 'nonsense', '-1']) {
    const page: EventReader = await web.events(lastId);
    await page.saw('reset');
    expect(page.of('hello')).toMatchObject([{ data: { resumed: false } }]);
  }
});

it('the server ends at once when it is stopped, with all its pages looking on', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const web = await Web.start(host);
  const pages = await Promise.all(Array.from({ length: 5 }, () => web.events()));
  await Promise.all(pages.map((page) => page.saw('hello')));
  expect(await web.stop()).toMatchObject({ code: 0 });
  for (const page of pages) await until('the end of the stream', () => page.ended);
});
