import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { against, together, type Figure, type Scale } from '../figure.ts';
import { inTurn, ran } from '../measure.ts';
import { BIN, World } from '../world.ts';

/**
 * Commands as whole processes, compared to the least time that the machine needs. Each one has its
 * own bus, so that it does not encounter the pushes of the others.
 */
export async function commands({ rounds }: Scale): Promise<Figure[]> {
  const [byHand, alone, served] = [await World.make(), await World.make(), await World.make()];
  try {
    const sender = await alone.machine('idle');
    const host = await served.machine('served', 'true');
    await served.machine('quiet');
    const serving = await host.serve();
    await byHand.machine('other');
    const clone = join(byHand.root, 'clone');
    await byHand.git(byHand.root, 'clone', '--quiet', byHand.hub, clone);
    const node = (...args: string[]) =>
      ran(process.execPath, args, { cwd: clone, env: byHand.env });
    const sh = (script: string) => ran('sh', ['-c', script], { cwd: clone, env: byHand.env });
    let serial = 0;
    const write = (): void => {
      writeFileSync(join(clone, `file-${String(serial++)}`), 'x\n');
    };
    const spreads = await inTurn(rounds, {
      'node -e 0': () => node('-e', '0'),
      version: () => node(BIN, '--version'),
      'add, commit, push': () => {
        write();
        return sh('git add . && git commit -qm x && git push -q');
      },
      send: () => sender.run('send', '--to', 'idle', '--from', 'me', 'hello'),
      commit: async () => {
        write();
        await sh('git add . && git commit -qm x');
      },
      push: () => sh('git push -q'),
      'send, served': () => host.run('send', '--to', 'quiet', '--from', 'me', 'hello'),
    });
    await serving.stop();
    const start = spreads['node -e 0'];
    const best = together(
      'node -e 0 + add, commit, push in sh',
      start,
      spreads['add, commit, push'],
    );
    return [
      against('crosstalk --version', { what: 'node -e 0', ...start }, spreads.version, 1.15),
      against('send, no dispatcher', best, spreads.send, 1.3),
      against(
        'send, dispatcher running',
        together('node -e 0 + one push in sh', start, spreads.push),
        spreads['send, served'],
        1.2,
      ),
    ];
  } finally {
    for (const world of [byHand, alone, served]) await world.end();
  }
}
