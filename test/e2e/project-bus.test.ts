import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { scratch } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { digestOf } from '../support/folder-digest.ts';
import { git } from '../support/git.ts';
import { noOtherUser } from '../support/other-user.ts';
import { Person, project, REF } from '../support/project-bus.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Serves the files of a repository to everybody, as an old web server would; only to a password if one is given. */
async function served(folder: string, password?: string): Promise<string> {
  const server = createServer((request, response) => {
    const isIn = request.headers.authorization === `Basic ${btoa(`anna:${password ?? ''}`)}`;
    if (password !== undefined && !isIn) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      return;
    }
    const path = join(folder, (request.url ?? '/').split('?')[0] ?? '/');
    void readFile(path).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  return `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}`;
}

describe('a bus in a project', () => {
  it('is a ref of the project’s remote, and nothing of the project is written', async () => {
    const { hub, anna } = project();
    const before = digestOf(anna.app);
    const made = await anna.init();
    expect(made.code, made.err).toBe(0);
    expect(made.out).toContain(`The bus of ${anna.app}: ${REF} at ${hub}`);
    expect(made.err).toContain(`everybody who can read ${hub} can read the bus`);
    expect(digestOf(anna.app)).toEqual(before);
    expect(git(hub, 'for-each-ref', '--format=%(refname)')).toBe(`${REF}\nrefs/heads/main\n`);
  });

  it('is found from anywhere in the project, and not from the copy of a thread', async () => {
    const { root, hub, anna } = project();
    git(anna.app, 'branch', 'wip');
    git(anna.app, 'worktree', 'add', '--quiet', join(root, 'wip'), 'wip');
    const library = join(root, 'library');
    git(root, 'clone', '--quiet', hub, library);
    git(anna.app, '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', library, 'lib');
    await anna.init();
    mkdirSync(join(anna.app, 'deep', 'down'), { recursive: true });
    for (const cwd of [anna.app, join(anna.app, 'deep/down'), join(root, 'wip')]) {
      const { out } = await anna.runIn(cwd, {}, 'status', '--json');
      expect(JSON.parse(out)).toMatchObject({ ref: REF, branch: 'bus' });
    }
    const inside = await anna.runIn(join(anna.app, 'lib'), {}, 'status', '--json');
    expect(JSON.parse(inside.out)).toMatchObject({ ref: REF });
    const sent = await anna.run('ask', 'annas', 'hello', '--timeout', '1');
    expect(sent.code).toBe(3);
    await anna.run('dispatch', '--once');
    expect((await anna.run('log')).out).toContain('answered');
    const copies = join(anna.home, 'state');
    const copy = readdirSync(copies, { recursive: true, encoding: 'utf8' }).find((name) =>
      /worktrees\/[^/]+\/[^/]+\/\.git$/.test(name),
    );
    const from = join(copies, copy ?? 'none', '..');
    expect((await anna.runIn(from, {}, 'status')).code).not.toBe(0);
    expect(git(from, 'remote')).not.toContain('bus');
  });

  it('serves a colleague once the key of their message is pinned', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    const ben = new Person(root, 'ben', hub);
    expect((await ben.init()).out).toContain('Joined as ben.');
    expect(ben.hostFile(hub)).toContain('only_from: pinned');
    await ben.run('actor', 'add', 'later', '--cli', 'cat');
    expect(ben.hostFile(hub).match(/only_from: pinned/g)).toHaveLength(2);
    await ben.run('send', '--to', 'annas', 'please');
    await anna.run('dispatch', '--once');
    const [letter] = JSON.parse((await anna.run('dlq', '--json')).out) as {
      id: string;
      reason: string;
      messages: [string];
    }[];
    expect(letter?.reason).toBe('not_accepted');
    const message = letter?.messages[0] ?? '';
    const unsure = await anna.run('key', 'pin', 'ben', message);
    expect([unsure.code, unsure.err]).toEqual([2, expect.stringContaining('SHA256:')]);
    expect((await anna.run('key', 'pin', 'carl', message)).err).toContain('is from "ben"');
    const pinned = await anna.run('key', 'pin', 'ben', message, '--yes');
    expect(pinned.err).toContain(`crosstalk dlq --retry ${letter?.id ?? ''}`);
    await anna.run('dlq', '--retry', letter?.id ?? '');
    await anna.run('dispatch', '--once');
    expect((await ben.run('sync')).code).toBe(0);
    expect((await ben.run('inbox')).out).toContain('answered');
  });

  it('serves whoever can push where that was asked for, and says who that is', async () => {
    const { root, hub, anna } = project();
    const made = await anna.init('--anyone-who-can-push');
    expect(made.err).toContain('every token and bot that may push');
    expect(anna.hostFile(hub)).not.toContain('only_from');
    expect(existsSync(join(anna.home, '.ssh'))).toBe(false);
    const ben = new Person(root, 'ben', hub);
    await ben.init();
    await ben.run('send', '--to', 'annas', 'please');
    await anna.run('dispatch', '--once');
    expect((await anna.run('log')).out).toContain('answered');
  });

  it('approves no host file that was there before', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    const ben = new Person(root, 'ben', hub);
    const planted = join(root, 'planted');
    git(root, 'init', '--quiet', planted);
    git(planted, 'pull', '--quiet', hub, REF);
    writeFileSync(
      join(planted, 'hosts', 'ben.md'),
      '---\nalias: ben\nactors:\n  bens:\n    default: touch /tmp/planted\n---\n',
    );
    git(planted, 'add', '.');
    git(planted, 'commit', '--quiet', '-m', 'planted');
    git(planted, 'push', '--quiet', hub, `HEAD:${REF}`);
    const taken = await ben.init();
    expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('"ben" is taken')]);
    const joined = await ben.run('init', '--cli', 'cat', '--from', 'ben', '--alias', 'bens-own');
    expect(joined.code, joined.err).toBe(0);
    const { out } = await ben.run('host', 'show', '--json');
    expect(out).not.toContain('planted');
  });

  it('is put back after a mirror removed it, by whoever says so', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    await anna.run('send', '--to', 'annas', 'first');
    const tip = git(hub, 'rev-parse', REF);
    const other = join(root, 'other');
    git(root, 'clone', '--quiet', hub, other);
    git(other, 'push', '--quiet', '--mirror', hub);
    expect(git(hub, 'for-each-ref', REF)).toBe('');
    const gone = await anna.run('sync');
    expect(gone.code).toBe(1);
    expect(gone.err).toContain(`the remote has ${REF} no more`);
    const queued = await anna.run('send', '--to', 'annas', 'second');
    expect(queued.out).toContain('Queued');
    expect(git(hub, 'for-each-ref', REF)).toBe('');
    const questions: string[] = [];
    const ask = (answer: string) => (question: string) => {
      questions.push(question);
      return Promise.resolve(answer);
    };
    const declined = await anna.runIn(anna.app, { ask: ask('n') }, 'sync', '--recreate');
    expect([declined.code, git(hub, 'for-each-ref', REF)]).toEqual([1, '']);
    expect(questions[0]).toContain(`${REF} at ${hub}`);
    const back = await anna.runIn(anna.app, { ask: ask('y') }, 'sync', '--recreate');
    expect(back.code, back.err).toBe(0);
    expect(git(hub, 'merge-base', '--is-ancestor', tip.trim(), REF)).toBe('');
    expect(back.out).toContain('Pushed: 1');
    expect((await anna.run('sync', '--recreate')).err).toContain('there is nothing to put back');
  });

  it('is not left for another one that was made in its place', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    await anna.run('send', '--to', 'annas', 'first');
    const ours = git(hub, 'rev-parse', REF).trim();
    const other = join(root, 'other');
    git(root, 'clone', '--quiet', hub, other);
    git(other, 'push', '--quiet', '--mirror', hub);
    const ben = new Person(root, 'ben', hub);
    await ben.init();
    const theirs = git(hub, 'rev-parse', REF).trim();
    for (const argv of [['sync'], ['sync', '--retry']]) {
      const held = await anna.run(...argv);
      expect([held.code, held.err]).toEqual([1, expect.stringContaining('another bus stands')]);
    }
    const queued = await anna.run('send', '--to', 'annas', 'second');
    expect([queued.out, queued.err]).toEqual([
      expect.stringContaining('Queued'),
      expect.stringContaining('crosstalk sync --recreate'),
    ]);
    expect((await anna.run('dispatch', '--once')).err).toContain('"kind":"another_bus"');
    expect((await anna.run('log')).out).toContain('first');
    expect(git(hub, 'rev-parse', REF).trim()).toBe(theirs);

    // The one is put back, and the other one is kept, and not left by who had joined it.
    const questions: string[] = [];
    const ask = (question: string): Promise<string> => {
      questions.push(question);
      return Promise.resolve('y');
    };
    const back = await anna.runIn(anna.app, { ask }, 'sync', '--recreate');
    expect(back.code, back.err).toBe(0);
    expect(questions[0]).toContain(`${REF}-replaced-${theirs.slice(0, 12)}`);
    expect(git(hub, 'rev-parse', `${REF}-replaced-${theirs.slice(0, 12)}`).trim()).toBe(theirs);
    expect(git(hub, 'merge-base', '--is-ancestor', ours, REF)).toBe('');
    expect(git(hub, 'log', '--format=%s', REF)).toContain('annas');
    expect((await ben.run('sync')).err).toContain('another bus stands');

    // Who had made the other one joins this one.
    const joined = await ben.init('--join', hub);
    expect(joined.out, joined.err).toContain('Joined as ben.');
    expect((await ben.run('sync')).code).toBe(0);
    expect((await ben.run('log')).out).toContain('second');
    expect((await ben.init('--join', hub)).err).toContain('is here already');
  });

  it('is not left by way of something that is no commit', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    await anna.run('send', '--to', 'annas', 'first');
    const ours = git(hub, 'rev-parse', REF).trim();
    git(hub, 'tag', '--annotate', '--message', 'x', 'x', REF);
    const blob = git(hub, 'rev-parse', 'main:readme').trim();
    for (const instead of [git(hub, 'rev-parse', 'x').trim(), blob]) {
      git(hub, 'update-ref', REF, instead);
      const held = await anna.run('sync');
      expect([held.code, held.err]).toEqual([
        1,
        expect.stringContaining(`no commit, but ${instead}`),
      ]);
      expect((await anna.run('log')).out).toContain('first');
    }
    git(hub, 'update-ref', '-d', REF);
    const ben = new Person(root, 'ben', hub);
    await ben.init();
    expect((await anna.run('sync')).err).toContain('another bus stands');
    // As an end between git's move of our branch and our look at it leaves it.
    const state = join(anna.home, 'state/crosstalk');
    const own = readdirSync(state).find((name) => name.startsWith('hub-')) ?? '';
    writeFileSync(join(state, own, 'git/refs/remotes/origin/bus'), `${blob}\n`);
    expect((await anna.run('sync')).err).toContain('another bus stands');
    expect((await anna.run('sync')).err).toContain('another bus stands');

    git(hub, 'update-ref', REF, blob);
    expect((await ben.run('sync')).err).toContain(`no commit, but ${blob}`);
    const joins = await new Person(root, 'cleo', hub).init();
    expect([joins.code, joins.err]).toEqual([1, expect.stringContaining('no commit, but')]);
    const back = await anna.run('sync', '--recreate');
    expect(back.code, back.err).toBe(0);
    expect(git(hub, 'rev-parse', `${REF}-replaced-${blob.slice(0, 12)}`).trim()).toBe(blob);
    expect(git(hub, 'merge-base', '--is-ancestor', ours, REF)).toBe('');
    expect((await anna.run('sync')).code).toBe(0);
  });

  it('is not made where everybody can read, unless that is meant', async () => {
    const { hub, anna, root } = project();
    git(hub, 'update-server-info');
    const url = await served(root);
    git(anna.app, 'remote', 'set-url', 'origin', `${url}/hub.git`);
    git(anna.app, 'config', 'remote.origin.pushurl', hub);
    const refused = await anna.init();
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('everybody can read this'),
    ]);
    expect(git(hub, 'for-each-ref', REF)).toBe('');
    const typing = (answer: string): Promise<Ran> =>
      anna.runIn(
        anna.app,
        { ask: (question) => Promise.resolve(question.includes('Type hub') ? answer : '') },
        ...['init', '--cli', 'cat', '--from', 'anna', '--public'],
      );
    expect((await typing('yes')).code).toBe(1);
    expect(git(hub, 'for-each-ref', REF)).toBe('');
    const made = await typing('hub');
    expect(git(hub, 'for-each-ref', REF), made.err).not.toBe('');
  });

  it('is joined from a server that has only files, and is said to be read by everybody', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    await anna.run('send', '--to', 'annas', 'first');
    git(hub, 'update-server-info');
    const url = `${await served(root)}/hub.git`;
    const ben = new Person(root, 'ben', hub);
    const joined = await ben.init('--join', url);
    expect(joined.out, joined.err).toContain('Joined as ben.');
    expect(joined.err).toContain(`everybody can read this: ${url} answers without a login`);
    expect((await ben.run('log')).out).toContain('first');
  });

  it('is not pushed where everybody can read, wherever it is fetched from', async () => {
    const { hub, anna, root } = project();
    git(hub, 'update-server-info');
    git(anna.app, 'config', `url.${await served(root)}/.pushInsteadOf`, `${root}/`);
    const refused = await anna.init();
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('everybody can read this'),
    ]);
    expect(git(hub, 'for-each-ref', REF)).toBe('');
  });

  it('asks a remote with nothing that would let somebody in', async () => {
    const { hub, anna, root } = project();
    git(hub, 'update-server-info');
    const url = (await served(root, 'secret')).replace('://', '://anna:secret@');
    git(anna.app, 'remote', 'set-url', 'origin', `${url}/hub.git`);
    git(anna.app, 'config', 'remote.origin.pushurl', hub);
    writeFileSync(join(anna.home, '.netrc'), 'machine 127.0.0.1 login anna password secret\n');
    const made = await anna.init();
    expect(git(hub, 'for-each-ref', REF), made.err).not.toBe('');
    expect(made.out + made.err).not.toContain('secret');
  });

  it('is not spoken of as one that lost a file, in a project that has none', async () => {
    const { anna } = project();
    const { err } = await anna.run('status');
    expect(err).toContain('crosstalk init in a project');
    expect(err).not.toContain('push it again');
  });

  it('is a copy at a fork, from which the original is joined', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    await anna.run('send', '--to', 'annas', 'an old question');
    const fork = join(root, 'fork.git');
    git(root, 'clone', '--quiet', '--mirror', hub, fork);
    const eve = new Person(root, 'eve', fork);
    const copied = git(fork, 'rev-parse', REF);
    const refused = await eve.init();
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is a copy here')]);
    expect(git(fork, 'rev-parse', REF)).toBe(copied);
    expect((await eve.run('status')).code).not.toBe(0);
    const joined = await eve.init('--join', hub);
    expect(joined.out, joined.err).toContain('Joined as eve.');
    expect(eve.hostFile(hub)).toContain('alias: eve');

    // Or a bus of its own is begun there, as the refusal says, and no old question is answered in it.
    const zoe = new Person(root, 'zoe', fork);
    const [, remove = ''] =
      /takes the copy away: (git push .+ --delete \S+);/.exec(refused.err) ?? [];
    execFileSync('sh', ['-c', remove], { cwd: zoe.app });
    const begun = await zoe.init();
    expect(begun.out, begun.err).toContain('A new transport with the host zoe.');
    await zoe.run('dispatch', '--once');
    expect((await zoe.run('log')).out).not.toContain('an old question');
    expect(git(fork, 'ls-tree', '-r', '--name-only', REF)).not.toContain('hosts/anna.md');
  });

  it('is a branch, after asking, where the remote takes no such ref', async () => {
    const { hub, anna } = project();
    const hook = join(hub, 'hooks', 'update');
    writeFileSync(hook, '#!/bin/sh\ncase $1 in refs/heads/*) ;; *) echo no >&2; exit 1 ;; esac\n');
    chmodSync(hook, 0o755);
    const refused = await anna.init();
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('does not take the ref refs/crosstalk/bus'),
    ]);
    expect(refused.err).toContain('crosstalk init --as-branch');
    const questions: string[] = [];
    const asked = await anna.runIn(
      anna.app,
      {
        ask: (question) => {
          questions.push(question);
          // Whoever breaks off here, which ends the process at once, leaves nothing that is found as the bus.
          expect(readdirSync(join(anna.home, 'data/crosstalk'))).toEqual([]);
          return Promise.resolve(question.includes('crosstalk-bus') ? 'y' : '');
        },
      },
      ...['init', '--cli', 'cat', '--from', 'anna', '--no-sandbox'],
    );
    expect(asked.code, asked.err).toBe(0);
    expect(questions.join()).toContain('a CI may build it');
    await anna.run('send', '--to', 'concierge', 'hello');
    const subjects = git(hub, 'log', '--format=%s', 'crosstalk-bus').trim().split('\n');
    expect(subjects.length).toBeGreaterThan(1);
    expect(subjects.filter((subject) => !subject.startsWith('[skip ci] '))).toEqual([]);
  });

  it('says what to do where nothing can be pushed', async () => {
    const { hub, anna } = project();
    const hook = join(hub, 'hooks', 'pre-receive');
    writeFileSync(hook, '#!/bin/sh\necho read-only >&2; exit 1\n');
    chmodSync(hook, 0o755);
    const refused = await anna.init();
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('crosstalk init <dir> --remote <url>');
    expect((await anna.run('status')).code).not.toBe(0);
  });

  it('shows nothing that moves the cursor of what a remote or an address says', async () => {
    const { hub, anna } = project();
    const hook = join(hub, 'hooks', 'pre-receive');
    writeFileSync(hook, "#!/bin/sh\nprintf '\\033[31mred\\n' >&2; exit 1\n");
    chmodSync(hook, 0o755);
    const { err } = await anna.init();
    expect(err).toContain('\\u001b[31mred');
    git(anna.app, 'remote', 'set-url', 'origin', `${hub}\u001b[2J`);
    expect((err + (await anna.init()).err).includes('\u001b')).toBe(false);
  });

  it('stays on this machine where the project has no remote', async () => {
    const { hub, anna } = project();
    git(anna.app, 'remote', 'remove', 'origin');
    const made = await anna.init();
    expect(made.out).toContain('stays on this machine');
    await anna.run('send', '--to', 'annas', 'hello');
    await anna.run('dispatch', '--once');
    expect((await anna.run('log')).out).toContain('answered');
    const again = await anna.init();
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('is here already; see')]);
    // The project gets its remote back.
    git(anna.app, 'remote', 'add', 'origin', hub);
    const [, clone = ''] = /git -C (\S+) remote add/.exec((await anna.init()).err) ?? [];
    git(clone, 'remote', 'add', 'origin', hub);
    const { held } = JSON.parse((await anna.run('host', 'show', '--json')).out) as {
      held: { digest: string }[];
    };
    await anna.run('host', 'approve', ...held.map(({ digest }) => digest));
    await anna.run('sync');
    expect(git(hub, 'ls-tree', '-r', '--name-only', REF)).toContain('hosts/anna.md');
  });

  it('is made also where the project was only begun, with nothing in it yet', async () => {
    const { root, anna } = project();
    anna.app = join(root, 'begun');
    git(root, 'init', '--quiet', anna.app);
    const made = await anna.init();
    expect([made.code, made.out], made.err).toEqual([
      0,
      expect.stringContaining('stays on this machine'),
    ]);
    expect(readdirSync(anna.app)).toEqual(['.git']);
  });

  it('is used again by a project that was cloned anew', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    rmSync(anna.app, { recursive: true });
    git(root, 'clone', '--quiet', hub, anna.app);
    expect((await anna.run('status')).code).not.toBe(0);
    expect((await anna.init()).err).toContain('is here already');
    const { out } = await anna.run('status', '--json');
    expect(JSON.parse(out)).toMatchObject({ ref: REF, host: { alias: 'anna' } });
  });

  it('is made once by two who begin at the same moment', async () => {
    const { hub, anna } = project();
    const both = await Promise.all([anna.init(), anna.init()]);
    expect(both.map(({ code }) => code).sort(), both.map(({ err }) => err).join('')).toEqual([
      0, 1,
    ]);
    expect(both.map(({ err }) => err).join('')).toContain('is here already');
    expect(readdirSync(join(anna.home, 'data', 'crosstalk'))).toHaveLength(1);
    expect(anna.hostFile(hub)).toContain('alias: anna');
  });

  it('takes of what its remote allows the project what doctor counts', async () => {
    const { root, hub, anna } = project();
    await anna.init();
    await anna.run('send', '--to', 'annas', 'hello');
    const { out } = await anna.run('doctor');
    expect(out).toMatch(
      new RegExp(
        `of what ${hub} allows the project, the bus takes one ref and about [\\d.]+ .iB; this machine has pushed [12] times in 24 hours`,
      ),
    );
    const own = join(root, 'own');
    await anna.runIn(root, {}, 'init', own, '--cli', 'cat', '--from', 'anna');
    const other = await anna.runIn(own, {}, 'doctor');
    expect(other.out).not.toContain('shared with');
  });

  it('is found by a project that was moved', async () => {
    const { root, anna } = project();
    await anna.init();
    const cwd = join(root, 'moved');
    renameSync(anna.app, cwd);
    const { out } = await anna.runIn(cwd, {}, 'status', '--json');
    expect(JSON.parse(out)).toMatchObject({ ref: REF, host: { alias: 'anna' } });
    expect((await anna.runIn(cwd, {}, 'init')).err).toContain('is here already');
    // A copy of the project is another one.
    const copy = join(root, 'copy');
    cpSync(cwd, copy, { recursive: true });
    expect((await anna.runIn(copy, {}, 'status')).code).not.toBe(0);
  });

  it.skipIf(noOtherUser !== '')(
    'is not made by what a project of another user says' + noOtherUser,
    async () => {
      const { root, anna } = project();
      const used = join(root, 'used');
      git(anna.app, 'remote', 'remove', 'origin');
      git(anna.app, 'config', 'remote.ssh://localhost/x.url', 'any');
      git(anna.app, 'config', 'core.sshCommand', `touch ${used};`);
      execFileSync('chown', ['-R', '65534', anna.app]);
      const refused = await anna.init();
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('safe.directory')]);
      expect(existsSync(used)).toBe(false);
    },
  );

  it('asks which of several remotes carries it', async () => {
    const { root, hub, anna } = project();
    git(anna.app, 'remote', 'add', 'upstream', join(root, 'nowhere.git'));
    const unsure = await anna.init();
    expect([unsure.code, unsure.err]).toEqual([
      2,
      expect.stringContaining('say which one is to carry the bus with --remote <name>'),
    ]);
    const made = await anna.init('--remote', 'origin');
    expect(made.out, made.err).toContain(`${REF} at ${hub}`);
  });

  it('is reached as the project reaches its remote', async () => {
    const { root, hub, anna } = project();
    const ssh = join(root, 'as-ssh');
    const used = join(root, 'used');
    writeFileSync(ssh, `#!/bin/sh\necho x >> '${used}'\nfor last; do :; done\neval "$last"\n`);
    chmodSync(ssh, 0o755);
    git(anna.app, 'config', 'core.sshCommand', ssh);
    git(anna.app, 'config', `url.ssh://localhost${root}/.insteadOf`, 'work:');
    git(anna.app, 'remote', 'set-url', 'origin', 'work:hub.git');
    const made = await anna.init();
    expect(made.code, made.err).toBe(0);
    expect(made.err).toContain(`runs what the project's core.sshcommand says`);
    expect(made.err).toContain('whether everybody can read ssh://localhost');
    const before = readFileSync(used).length;
    await anna.run('send', '--to', 'annas', 'hello');
    expect(git(hub, 'log', '-1', '--format=%s', REF)).not.toContain('new transport');
    expect(readFileSync(used).length).toBeGreaterThan(before);
  });

  it('shows its files in a folder outside of the project', async () => {
    const { root, anna } = project();
    await anna.init();
    expect((await anna.run('checkout', 'here')).err).toContain('name a folder outside');
    const shown = join(root, 'shown');
    expect((await anna.run('checkout', shown)).code).toBe(0);
    expect(readdirSync(shown)).toContain('hosts');
    expect((await anna.runIn(shown, {}, 'status', '--json')).out).toContain(REF);
  });
});

describe('init in a clone', () => {
  it('begins a transport in the clone of an empty repository, and adds machines in clones of that', async () => {
    const root = scratch();
    const hub = join(root, 'hub.git');
    git(root, 'init', '--quiet', '--bare', '--initial-branch=main', hub);
    const anna = new Person(root, 'anna', hub);
    const made = await anna.init();
    expect(made.code, made.err).toBe(0);
    expect(git(anna.app, 'config', '--get-all', 'remote.origin.url').trim()).toBe(hub);
    expect(git(hub, 'show', 'main:hosts/anna.md')).toContain('alias: anna');
    const ben = new Person(root, 'ben', hub);
    expect((await ben.init()).out).toContain('Joined as ben.');
    expect(git(hub, 'show', 'main:hosts/ben.md')).toContain('alias: ben');
    expect((await ben.init()).err).toContain('is a transport already');
  });
});
