import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { against, together, type Figure, type Scale } from '../figure.ts';
import { inTurn, ran } from '../measure.ts';
import { World } from '../world.ts';

const MIB = 1024 * 1024;

/**
 * A message with a file of 1 MiB, compared to git by hand with the same file, each on a bus of its own:
 * without a dispatcher, where the command does what the shell does, and with one running.
 */
export async function files({ rounds }: Scale): Promise<Figure[]> {
  const [byHand, alone, served] = [await World.make(), await World.make(), await World.make()];
  try {
    const sender = await alone.machine('idle');
    const host = await served.machine('served', 'true');
    await served.machine('quiet');
    const serving = await host.serve();
    await byHand.machine('other');
    const clone = join(byHand.root, 'clone');
    await byHand.git(byHand.root, 'clone', '--quiet', byHand.hub, clone);
    const inClone = { cwd: clone, env: byHand.env };
    let serial = 0;
    // No file is in git already, and no bytes can be compressed.
    const fresh = (folder: string): string => {
      const path = join(folder, `file-${String(serial++)}`);
      writeFileSync(path, randomBytes(MIB));
      return path;
    };
    // To an actor that a host serves: before a warning that none does, the remote is asked once more.
    const sending = (to: string): string[] => [
      ...['send', '--to', to, '--from', 'me', 'hello', '--attach'],
      fresh(to === 'idle' ? alone.root : served.root),
    ];
    const spreads = await inTurn(rounds, {
      'node -e 0': () => ran(process.execPath, ['-e', '0'], inClone),
      git: () => {
        fresh(clone);
        return ran('sh', ['-c', 'git add . && git commit -qm x && git push -q'], inClone);
      },
      send: () => sender.run(...sending('idle')),
      'send, served': () => host.run(...sending('quiet')),
    });
    await serving.stop();
    const floor = together(
      'node -e 0 + add, commit, push of 1 MiB in sh',
      spreads['node -e 0'],
      spreads.git,
    );
    return [
      against('send --attach 1 MiB, no dispatcher', floor, spreads.send, 1.5),
      against('send --attach 1 MiB, dispatcher running', floor, spreads['send, served'], 1.5),
    ];
  } finally {
    await Promise.all([byHand.end(), alone.end(), served.end()]);
  }
}
