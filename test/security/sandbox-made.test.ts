import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus } from '../support/bus.ts';
import { sample } from '../support/form.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const program = backend.ok ? backend.program : '';

/** What another run that may write there does between the look at a folder and the mount of it. */
const ATTACKS: Record<string, { before: string; after?: string }> = {
  'a symlink in the place of a folder with a pipe': { before: 'mv x y; ln -s .. x' },
  'such a symlink while the mount is made, and the folder again at once': {
    before: 'mv x y; ln -s .. x',
    after: 'rm x; mv y x',
  },
  'a symlink in the place of a folder with a repository': { before: 'mv app y; ln -s .. app' },
  'another folder': { before: 'mv x y; mkdir x; mkfifo x/pipe' },
  'a folder of the sandbox’s own as the place of the mount': {
    before: 'mv x y; ln -s /newroot/usr/local x',
    after: 'rm x; mv y x',
  },
};

it.skipIf(!backend.ok).each(sample(Object.entries(ATTACKS)))(
  `nothing runs in a sandbox in which a mount leads elsewhere than was looked at: %s${UNLESS}`,
  { tags: 'sampled' },
  async (_, { before, after = ':' }) => {
    const bus = new Bus();
    const [home, bin] = [join(bus.root, 'home'), join(bus.root, 'bin')];
    const [work, ran] = [join(home, 'work'), join(home, 'work', 'ran')];
    for (const folder of [join(work, 'x'), join(work, 'app/.git'), bin])
      mkdirSync(folder, { recursive: true });
    execFileSync('mkfifo', [join(work, 'x/pipe')]);
    writeFileSync(join(home, 'secret'), 'the secret');
    // bubblewrap as it is, and while it makes the mounts, the other run.
    const wait = (file: string): string =>
      `n=0; until test -e ${file} || test $n -gt 500; do n=$((n + 1)); sleep 0.01; done`;
    writeFileSync(
      join(bin, 'bwrap'),
      `#!/bin/sh
case "$*" in *${work}*) test -e ${work}/armed ;; *) false ;; esac && {
cd ${work}; rm armed; ${before}; { ${wait('made')}; ${after}; touch back; } > /dev/null 2>&1 &
cd /; n=$#; while [ "$n" -gt 0 ]; do
a=$1; shift; n=$((n - 1)); set -- "$@" "$a"
[ "$a" != -- ] || set -- "$@" /bin/sh -c 'touch made; ${wait('back')}; exec "$@"' sh
done; }
exec ${program} "$@"
`,
    );
    chmodSync(join(bin, 'bwrap'), 0o700);
    const host = await bus.host('front', {});
    host.env['HOME'] = home;
    host.env['PATH'] = `${bin}:${process.env['PATH'] ?? ''}`;
    const cli = `cat > /dev/null; cat "$HOME/secret" x/secret; touch ran; echo done`;
    host.declare({
      dev: { default: { cli, workdir: work, attempts: 1, sandbox: { net: ['none'] } } },
    });
    await host.approve();
    await host.send('dev', 'go on');
    await host.once();
    expect(bus.from('dev').map(({ message }) => message.body)).toEqual(['done\n']);
    rmSync(ran);

    writeFileSync(join(work, 'armed'), '');
    await host.send('dev', 'go on');
    await host.once();
    expect(bus.from('dev').at(-1)?.message.failed).toBeDefined();
    const letters = await host.run('dlq');
    expect(letters.out).toMatch(
      /was moved while it was made; nothing was run|Can't find source path/,
    );
    expect(() => {
      rmSync(ran);
    }).toThrow(/ENOENT/);
  },
);
