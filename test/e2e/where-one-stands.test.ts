import { renameSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';
import { git } from '../support/git.ts';

const OF_ALL = 'Commands: crosstalk --help\n';

function alone(host: Host, from: string): Promise<Ran> {
  return host.runWith({ outIsTty: true, env: { NO_COLOR: '1', CROSSTALK_FROM: from } });
}

it('crosstalk alone says that no bus is here, also in a repository of something else', async () => {
  const cwd = scratch();
  const nothing = `No bus here: neither ${cwd} nor a folder above it is a transport\nNext: crosstalk init, in a git project or an empty folder; to see it work first: crosstalk demo\n${OF_ALL}`;
  const look = (): Promise<Ran> => command([], { cwd, outIsTty: true, env: { NO_COLOR: '1' } });
  expect(await look()).toEqual({ code: 0, out: nothing, err: '' });
  git(cwd, 'init', '--quiet');
  git(cwd, 'commit', '--quiet', '--allow-empty', '--message', 'code');
  expect(await look()).toEqual({ code: 0, out: nothing, err: '' });
});

it('off a terminal crosstalk alone is wrong usage, and shows the help as before', async () => {
  const cwd = scratch();
  const { code, out } = await command([], { cwd });
  expect([code, out]).toEqual([2, (await command(['--help'], { cwd })).out]);
});

it('crosstalk alone says what runs, what waits for one and what is stuck, and the next step', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat > /dev/null; exit 7' });
  const first = await alone(host, 'anna');
  expect([first.code, first.err]).toEqual([0, '']);
  expect(first.out).toBe(
    `Bus: ${host.dir}, host front\nDispatcher: not running\nFor you: nothing unread, as anna\nNext: crosstalk dispatch\n${OF_ALL}`,
  );
  await host.send('anna', 'Which one?', '--from', 'bea', '--anyway');
  const asked = await alone(host, 'anna');
  expect(asked.out).toContain('For you: 1 unread, 1 waiting for your answer, as anna\n');
  await host.send('worker', 'do it', '--from', 'anna');
  await host.once();
  const stuck = await alone(host, 'anna');
  expect(stuck.out).toMatch(/^Waiting: failed deliveries that are retried by themselves: 1; /m);
  expect(stuck.out.split('\n').length).toBeLessThan(10);
});

it('crosstalk alone asks no remote, and says that another version is spoken here', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  host.edit({ 'upstream/CROSSTALK-VERSION': '9.9\n' });
  await host.run('sync');
  renameSync(bus.hub, `${bus.hub}.away`);
  const other = await alone(host, 'anna');
  expect([other.code, other.err]).toEqual([0, '']);
  expect(other.out).toMatch(/^Stuck: unsupported protocol version, .*"9\.9"/m);
});
