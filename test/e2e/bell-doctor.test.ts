import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { Nats, natsMissing, operator, skippedWithoutNats } from '../support/nats.ts';
import { freePort } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { subjectOf, withBell } from '../support/with-bell.ts';

interface Check {
  check: string;
  ok: boolean;
  found: string;
  fix: string;
}

async function bellIn(host: Host): Promise<Check | undefined> {
  const { out } = await host.run('doctor', '--json');
  const { checks } = JSON.parse(out) as { checks: Check[] };
  return checks.find(({ check }) => check === 'bell');
}

it('without a bell, doctor says nothing of one', async () => {
  const bus = new Bus();
  const host = await bus.host('a', { alpha: 'true' });
  expect(await bellIn(host)).toBeUndefined();
});

it('a bell that is no address of a server, and one where nobody listens, are said with what to do, and mail is sent', async () => {
  const bus = new Bus();
  const host = await bus.host('a', { alpha: 'echo here' });
  await withBell(host, { bell: 'http://user:very-secret@127.0.0.1' });
  const wrong = await bellIn(host);
  expect(wrong).toMatchObject({ ok: false });
  expect(wrong?.found).toContain('is no server of NATS; expected nats://<host>:<port>');
  expect(JSON.stringify(wrong)).not.toContain('very-secret');

  const port = await freePort();
  await withBell(host, { bell: `nats://127.0.0.1:${String(port)}` });
  const nobody = await bellIn(host);
  expect(nobody).toMatchObject({ ok: false });
  expect(nobody?.found).toContain(`127.0.0.1:${String(port)} cannot be reached`);

  const running = host.start();
  await running.saw('bell_down');
  await host.send('alpha', 'all the same');
  await running.saw('push_done');
  // The next heartbeat says it.
  const said = await until('status to say it', async () => {
    const { out } = await host.run('status');
    return out.includes('the bell is down') && out;
  });
  expect(said).toMatch(/^healthy/);
  expect(said).toMatch(/the bell is down since \S+.*cannot be reached/);
});

describe.skipIf(natsMissing() !== undefined)(
  `doctor and a real server${skippedWithoutNats}`,
  () => {
    it('a bell that can be heard is said so, with its subject', async () => {
      const bus = new Bus();
      const nats = await Nats.start(bus.root);
      const host = await bus.host('a', { alpha: 'true' });
      await withBell(host, { bell: nats.url });
      const found = await bellIn(host);
      expect(found).toMatchObject({ ok: true });
      expect(found?.found).toContain(`can be heard (no TLS, no credentials file)`);
      expect(found?.found).toContain(subjectOf(bus));
    });

    it('credentials that others may read, those that a server refuses, a file that holds none, and rights that are missing are told apart', async () => {
      const bus = new Bus();
      const { config } = operator();
      const nats = await Nats.start(bus.root, config);
      const host = await bus.host('a', { alpha: 'true' });
      const creds = join(bus.root, 'others.creds');
      writeFileSync(creds, operator().user(), { mode: 0o644 });
      await withBell(host, { bell: nats.url, bellCredentials: creds });
      const open = await bellIn(host);
      expect(open).toMatchObject({ ok: false, fix: `chmod 600 ${creds}` });
      expect(open?.found).toContain(`every user of this machine may use ${creds}`);
      chmodSync(creds, 0o640);
      const refused = await bellIn(host);
      expect(refused?.found).toContain(`refuses the credentials (${creds}); get valid ones`);

      writeFileSync(creds, 'nothing of the kind');
      const none = await bellIn(host);
      expect(none?.found).toContain('holds no credentials of NATS');

      const rights = 'permissions: { publish: "other.>", subscribe: ">" }';
      const limited = await Nats.start(
        bus.root,
        `authorization: { users: [ { user: anna, password: very-secret, ${rights} } ] }`,
      );
      git(host.dir, 'config', '--unset', 'crosstalk.bellCredentials');
      await withBell(host, { bell: limited.url.replace('//', '//anna:very-secret@') });
      const silent = await bellIn(host);
      expect(silent).toMatchObject({ ok: false });
      expect(silent?.found).toMatch(/permissions violation.*ask the operator of the server/i);
      expect(JSON.stringify(silent)).not.toContain('very-secret');
    });
  },
);
