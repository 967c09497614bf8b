import { cpSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Bus, Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';

/** The same machine once more, with its clone and its state. */
class Copy extends Host {
  override readonly dir: string;
  override readonly state: string;
  override readonly env: NodeJS.ProcessEnv;

  constructor(original: Host) {
    super(original.bus, original.alias);
    this.dir = `${original.dir}-copy`;
    this.state = `${original.state}-copy`;
    this.env = { CROSSTALK_STATE_DIR: this.state };
    cpSync(original.dir, this.dir, { recursive: true });
    cpSync(original.state, this.state, { recursive: true });
  }
}

it('a copy of a machine with its state answers everything twice, and both say so; alone a machine never does', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: 'crosstalk send --to nobody --anyway --new note >&2; echo done',
  });
  await host.send('worker', 'before');
  await host.once();
  const copy = new Copy(host);
  await copy.approve();
  const answers = (): number =>
    bus.from('worker').filter(({ message }) => message.re.length > 0).length;
  const first = host.start();
  for (const [index, text] of ['alone', 'still alone'].entries()) {
    await host.send('worker', text);
    await until('the answer', () => answers() === index + 2);
  }
  await host.run('sync');
  expect(first.count('alias_shared')).toBe(0);
  const second = copy.start();
  await second.saw('host_file_loaded');
  await until('both hear', () => second.count('tick') > 1);
  await host.send('worker', 'together');
  expect(await first.saw('alias_shared')).toMatchObject({ alias: 'front' });
  await second.saw('alias_shared');
  await until('status says it', async () =>
    (await host.run('status')).out.includes('somebody else writes as this host, front'),
  );
});
