import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { scratch } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { exec, put } from '../support/service.ts';

const SCRIPT = resolve('install.sh');
const NAME = `crosstalk-linux-${process.arch}.tar.gz`;

/** A home whose name is hard to write, with a downloaded archive of a program that says its version. */
class Home {
  readonly root = scratch();
  readonly dir = join(this.root, `it's "my" home`);
  readonly archive: string;

  constructor() {
    mkdirSync(this.dir);
    this.archive = this.release('1.0.0');
  }

  /** Makes an archive, with its checksum beside it. */
  release(version: string, program = `echo ${version}`): string {
    const folder = join(this.root, version);
    const tree = join(folder, 'crosstalk');
    for (const name of ['app', 'runtime']) mkdirSync(join(tree, name), { recursive: true });
    put(tree, 'crosstalk', program);
    put(join(tree, 'runtime'), 'node', 'true');
    const archive = join(folder, NAME);
    execFileSync('tar', ['-czf', archive, '-C', folder, 'crosstalk']);
    const digest = createHash('sha256').update(readFileSync(archive)).digest('hex');
    writeFileSync(`${archive}.sha256`, `${digest}  ${NAME}\n`);
    return archive;
  }

  at(...path: string[]): string {
    return join(this.dir, '.local', ...path);
  }

  install(archive: string[] = [this.archive], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
    const PATH = process.env['PATH'];
    return exec(['/bin/sh', SCRIPT, ...archive], { PATH, HOME: this.dir, ...env }, this.root);
  }

  /** What is installed, by its version; undefined without one. */
  get version(): string | undefined {
    const link = this.at('bin/crosstalk');
    if (!existsSync(link)) return undefined;
    return execFileSync(link, { encoding: 'utf8' }).trim();
  }
}

const unless = process.platform === 'linux' ? '' : ': install.sh is for Linux';

it.skipIf(unless !== '')(
  'install.sh installs below a home, and replaces what it has installed' + unless,
  async () => {
    const home = new Home();
    mkdirSync(home.at('bin'), { recursive: true });
    put(home.at('bin'), 'ct', 'echo of somebody else');
    const first = await home.install();
    expect([first.code, first.err]).toEqual([0, '']);
    expect(first.out).toContain(`Crosstalk 1.0.0: ${home.at('bin/crosstalk')}\n`);
    const second = await home.install([home.release('2.0.0')]);
    expect([second.code, second.err, home.version]).toEqual([0, '', '2.0.0']);
    expect(readdirSync(home.at('lib'))).toEqual(['crosstalk']);
    expect(readdirSync(home.at('bin')).sort()).toEqual(['crosstalk', 'ct']);
    expect(readFileSync(home.at('bin/ct'), 'utf8')).toContain('of somebody else');
  },
);

it.skipIf(unless !== '')(
  'install.sh goes to where links lead, and the links stay' + unless,
  async () => {
    const home = new Home();
    const [lib, bin, program] = ['lib', 'bin', 'program'].map((name) => join(home.root, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [lib, bin, home.at()]) mkdirSync(folder);
    symlinkSync(lib, home.at('lib'));
    symlinkSync(bin, home.at('bin'));
    symlinkSync(program, join(lib, 'crosstalk'));
    for (const version of ['1.0.0', '3.0.0']) {
      const { code, err } = await home.install([home.release(version)]);
      expect([code, err, home.version]).toEqual([0, '', version]);
    }
    expect(readdirSync(lib)).toEqual(['crosstalk']);
    expect(readdirSync(program).sort()).toEqual(['app', 'crosstalk', 'runtime']);
  },
);

/** A place to download from that ends the connection in the middle of the archive. */
async function cutServer(archive: string): Promise<string> {
  const server = createServer((request, response) => {
    const bytes = readFileSync(
      request.url?.endsWith('.sha256') === true ? `${archive}.sha256` : archive,
    );
    response.writeHead(200, { 'content-length': bytes.length });
    if (request.url?.endsWith('.sha256') === true) response.end(bytes);
    else response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  return `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}`;
}

it.skipIf(unless !== '').each<[string, (home: Home) => unknown, RegExp, NodeJS.ProcessEnv?]>([
  [
    'an archive that is not what its checksum says',
    ({ archive }) => {
      truncateSync(archive, 300);
    },
    /is not what its checksum says; fetch both anew/,
  ],
  [
    'a checksum that is empty',
    ({ archive }) => {
      writeFileSync(`${archive}.sha256`, '');
    },
    /is not what its checksum says/,
  ],
  [
    'a checksum that is a page of a proxy',
    ({ archive }) => {
      writeFileSync(`${archive}.sha256`, '<html>Log in\n</html>\n');
    },
    /is not what its checksum says/,
  ],
  [
    'no checksum',
    ({ archive }) => {
      rmSync(`${archive}.sha256`);
    },
    /no \S+\.sha256 beside it/,
  ],
  [
    'another program by the name',
    (home) => {
      rmSync(home.at('bin/crosstalk'), { force: true });
      put(home.at('bin'), 'crosstalk', 'echo mine');
    },
    /bin\/crosstalk is another program; move it away/,
  ],
  [
    'something else in its folder',
    (home) => {
      rmSync(home.at('lib/crosstalk'), { recursive: true });
      mkdirSync(home.at('lib/crosstalk'));
      writeFileSync(home.at('lib/crosstalk/thesis.txt'), 'years of work\n');
    },
    /lib\/crosstalk is something else; move it away/,
  ],
  [
    'a file in the place of its folder',
    (home) => {
      rmSync(home.at('lib/crosstalk'), { recursive: true });
      writeFileSync(home.at('lib/crosstalk'), '');
    },
    /lib\/crosstalk is something else; move it away/,
  ],
  [
    'a file in the place of a folder above',
    (home) => {
      rmSync(home.at('lib'), { recursive: true });
      writeFileSync(home.at('lib'), '');
    },
    /cannot write to \S.*\/\.local\/lib; make it a folder of yours/,
  ],
  [
    'a home that nobody can write to',
    () => undefined,
    /cannot write to \/proc\//,
    { HOME: '/proc' },
  ],
  ['an empty HOME', () => undefined, /HOME names no folder/, { HOME: '' }],
  ['a relative HOME', () => undefined, /HOME names no folder/, { HOME: 'home' }],
  [
    'a program that does not run here',
    (home) => {
      home.release('1.0.0', 'exit 127');
    },
    /does not run here: it needs glibc/,
  ],
])(
  'install.sh says in one line that there is %s, and changes nothing',
  async (_, spoil, words, env) => {
    const home = new Home();
    expect((await home.install()).code).toBe(0);
    spoil(home);
    const list = (): string => execFileSync('find', [home.dir], { encoding: 'utf8' });
    const before = list();
    const { code, out, err } = await home.install([home.archive], env);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(new RegExp(`^install\\.sh: .*${words.source}.*; nothing was changed\n$`));
    expect(list()).toBe(before);
  },
);

it.skipIf(unless !== '')(
  'install.sh says that a download was cut, and keeps the version before' + unless,
  async () => {
    const home = new Home();
    await home.install();
    const url = await cutServer(home.release('2.0.0'));
    const cut = await home.install([], { CROSSTALK_URL: url });
    expect([cut.code, cut.out, home.version]).toEqual([1, '', '1.0.0']);
    expect(cut.err.trimEnd().split('\n').at(-1)).toBe(
      `install.sh: cannot fetch ${url}/${NAME}; nothing was changed`,
    );
    expect(readdirSync(home.at('lib'))).toEqual(['crosstalk']);
  },
);
