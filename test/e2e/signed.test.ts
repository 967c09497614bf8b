import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { inboxLines, messageLines, threadLines } from '../../src/chat/bus-port.ts';
import { withContext } from '../../src/actions/context.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import {
  counts,
  fileOf,
  hasSshKeygen,
  Key,
  pins,
  putFile,
  signedFile,
  signs,
  WITH_SSH_KEYGEN,
} from '../support/keys.ts';
import { McpClient } from '../support/mcp.ts';
import { linesIn } from '../support/rows.ts';
import { TOKEN, Web } from '../support/web.ts';

const ANSWERS = 'cat >/dev/null; crosstalk send --to anna "a word" >/dev/null; echo done';

let bus: Bus;
let host: Host;
let key: Key;
beforeEach(async () => {
  bus = new Bus();
  host = await bus.host('laptop', { worker: ANSWERS });
  if (hasSshKeygen) key = new Key(host, 'anna');
});

const json = async <T>(...argv: string[]): Promise<T> => {
  const ran = await host.run(...argv, '--json');
  return JSON.parse(ran.out) as T;
};

interface Row {
  from: string;
  relPath: string;
  body: string;
  verified?: boolean;
}

/** What `log --json` says, by the first word of each text. */
async function marks(): Promise<Record<string, boolean | undefined>> {
  const { out } = await host.run('log', '--json');
  const rows = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row);
  return Object.fromEntries(rows.map(({ body, verified }) => [body.trim(), verified]));
}

/** Whether the real `ssh-keygen` accepts a message, by what `key verify` prints of it. */
async function verifiedByHand(message: string): Promise<boolean> {
  const [payload, signature] = await Promise.all(
    ['--payload', '--signature'].map(
      async (what) => (await host.run('key', 'verify', message, what)).out,
    ),
  );
  const [allowed, sig] = [join(bus.root, 'allowed'), join(bus.root, 'sig')];
  writeFileSync(allowed, `anna ${key.line}\n`);
  writeFileSync(sig, signature ?? '');
  const args = ['-Y', 'verify', '-f', allowed, '-I', 'anna', '-n', 'crosstalk', '-s', sig];
  try {
    execFileSync('ssh-keygen', args, { input: payload, stdio: ['pipe', 'ignore', 'ignore'] });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!hasSshKeygen)(`with a key, what a person writes ${WITH_SSH_KEYGEN}`, () => {
  it('is signed, so that ssh-keygen -Y verify accepts it by hand', async () => {
    await signs(host, key);
    const relPath = await host.send('worker', 'please');
    expect(await verifiedByHand(relPath)).toBe(true);
    const file = fileOf(host, { channel: host.channel(), relPath });
    expect(file).toMatch(/^---\n[^]*?\nsig: U1NIU0lH[A-Za-z0-9+/=]+\n---\n\nplease$/);
    expect(bus.from('anna')[0]?.message).toMatchObject({ extra: {}, body: 'please' });
  });

  it('is verified by the lines that docs/concepts/signed-messages.md gives, without crosstalk', async () => {
    await signs(host, key);
    const relPath = await host.send('worker', 'please\n\nsig: not this line\n---\n');
    await host.run('sync');
    const doc = readFileSync(
      new URL('../../docs/concepts/signed-messages.md', import.meta.url),
      'utf8',
    );
    const [, lines = ''] = /```\n(m=[^]*?ssh-keygen -Y verify[^]*?)```/.exec(doc) ?? [];
    const dir = join(bus.root, 'by-hand');
    mkdirSync(dir);
    writeFileSync(join(dir, 'anna.pub'), `${key.line}\n`);
    for (const name of ['data', 'local']) symlinkSync(join(host.dir, name), join(dir, name));
    const script = lines.replace(/^m=.*$/m, `m=${host.channel()}/${relPath}`);
    const said = execFileSync('sh', ['-ec', script], { cwd: dir, encoding: 'utf8' });
    expect(said).toMatch(/^Good "crosstalk" signature for anna/);
  });

  it(
    'is signed where a dispatcher runs, and what runs write is not',
    { tags: 'long' },
    async () => {
      await signs(host, key);
      await pins(host, 'anna', key);
      const running = host.start();
      await running.saw('dispatcher_started');
      await host.send('worker', 'please');
      await running.saw('dispatch_done');
      await running.saw('push_done', () => bus.from('worker').length === 2);
      expect(await marks()).toEqual({ please: true, 'a word': undefined, done: undefined });
      for (const { message } of bus.from('worker')) expect(message.sig).toBeUndefined();
      const [answer] = bus.from('worker').filter(({ message }) => message.body.trim() === 'done');
      await host.run('reply', answer?.relPath ?? '', 'and again');
      await host.run('cancel', bus.from('anna').at(-1)?.relPath ?? '', '--reason', 'enough');
      const asked = await host.run('ask', 'worker', 'one more');
      expect(asked.code, asked.err).toBe(0);
      const signed = await marks();
      expect(signed).toMatchObject({ 'and again': true, enough: true, 'one more': true });
    },
  );

  it('is signed by chat, page and MCP too', { tags: 'long' }, async () => {
    await signs(host, key);
    await pins(host, 'anna', key);
    await host.runWith({ stdin: 'by chat\n' }, 'chat', '--to', 'worker', '--timeout', '0');
    const web = await Web.start(host, '--token', TOKEN);
    await web.post('/api/send', { to: 'worker', body: 'by page' });
    const mcp = await McpClient.start(host);
    await mcp.call('send', { to: 'worker', body: 'by MCP' });
    await mcp.client.close();
    await host.run('sync');
    expect(await marks()).toEqual({ 'by chat': true, 'by page': true, 'by MCP': true });
    expect(bus.messages()).toHaveLength(3);
  });

  it(
    'is signed by a key of RSA or ECDSA as well, and the same when it is sent again',
    { tags: 'long' },
    async () => {
      for (const type of ['rsa', 'ecdsa']) {
        const other = new Key(host, `anna-${type}`, type);
        await signs(host, other);
        await pins(host, 'anna', other);
        bus.unplug();
        await host.run('send', '--to', 'worker', '--no-wait', type);
        bus.plug();
        await host.run('sync');
      }
      expect(await marks()).toEqual({ rsa: true, ecdsa: true });
    },
  );

  it('is not sent at all where it cannot be signed, and that is one line', async () => {
    await signs(host, key);
    const nothing = async (why: RegExp): Promise<void> => {
      const ran = await host.run('send', '--to', 'worker', 'please');
      expect(ran.code).toBe(1);
      expect(ran.out).toBe('');
      expect(ran.err).toMatch(why);
      expect(ran.err.trimEnd()).not.toContain('\n');
      expect((await host.run('sync')).code).toBe(0);
      expect(bus.messages()).toEqual([]);
    };
    git(host.dir, 'config', 'crosstalk.signingKey', 'id_ed25519');
    await nothing(/crosstalk\.signingKey is "id_ed25519", expected the path/);
    git(host.dir, 'config', 'crosstalk.signingKey', key.file);
    rmSync(key.file);
    rmSync(key.pub);
    await nothing(/not signed with .*key-of-anna.*: .*No such file.*; nothing was sent/);
    const bin = join(bus.root, 'bin');
    const { PATH } = process.env;
    execFileSync('mkdir', [bin]);
    for (const name of ['git', 'sh', 'env']) {
      const real = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
      writeFileSync(join(bin, name), `#!/bin/sh\nPATH='${PATH ?? ''}' exec '${real}' "$@"\n`);
      chmodSync(join(bin, name), 0o755);
    }
    host.env['PATH'] = bin;
    await nothing(/there is no ssh-keygen on the PATH; install OpenSSH/);
  });

  it('asks for no passphrase, as it could not be typed in a chat', async () => {
    execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'secret', '-f', key.file]);
    const used = await host.run('key', 'use', key.file);
    expect(used).toMatchObject({ code: 1, out: '' });
    expect(used.err).toMatch(/cannot sign with .*; give a key with a passphrase to your agent/);
    git(host.dir, 'config', 'crosstalk.signingKey', key.file);
    expect((await host.run('send', '--to', 'worker', 'please')).code).toBe(1);
  });
});

describe.skipIf(!hasSshKeygen)(`keys ${WITH_SSH_KEYGEN}`, () => {
  it('are made, taken, shown, pinned, listed and forgotten', async () => {
    const file = join(bus.root, 'made');
    expect((await host.run('key')).err).toContain('what you write here is not signed');
    const made = await host.run('key', 'create', file, '--json');
    const { key: line, fingerprint } = JSON.parse(made.out) as Record<string, string>;
    expect(existsSync(`${file}.pub`)).toBe(true);
    expect(git(host.dir, 'config', 'crosstalk.signingKey').trim()).toBe(file);
    expect(await host.run('key', 'create', file)).toMatchObject({ code: 1 });
    expect((await host.run('key')).out).toContain(fingerprint);
    expect((await host.run('key', 'list')).err).toContain(`your own key is ${fingerprint ?? ''} (`);
    const pinned = await host.run('key', 'pin', 'anna', ...(line ?? '').split(' '));
    expect(pinned.out).toBe(`Pinned: anna ${fingerprint ?? ''}\n`);
    await pins(host, 'anna', key);
    await pins(host, 'anna', key);
    expect(await json('key', 'list')).toMatchObject([
      { name: 'anna', fingerprint },
      { name: 'anna' },
    ]);
    const gone = await host.run('key', 'unpin', 'anna', fingerprint ?? '');
    expect(gone.out).toBe(`Unpinned: anna ${fingerprint ?? ''}\n`);
    expect((await host.run('key', 'unpin', 'anna')).code).toBe(0);
    expect(await json('key', 'list')).toEqual([]);
    expect((await host.run('key', 'unpin', 'anna')).code).toBe(1);
  });

  it('are pinned on a terminal only after somebody has seen the fingerprint and agreed', async () => {
    const asked: string[] = [];
    const answers = ['n', 'y'];
    const ask = (question: string): Promise<string> => {
      asked.push(question);
      return Promise.resolve(answers.shift() ?? '');
    };
    const no = await host.runWith({ ask }, 'key', 'pin', 'anna', key.pub);
    expect(no.out).toBe('nothing was pinned\n');
    expect(no.err).toMatch(/fingerprint {2}SHA256:/);
    expect(await json('key', 'list')).toEqual([]);
    await host.runWith({ ask }, 'key', 'pin', 'anna', key.pub);
    expect(asked[0]).toContain('compared the fingerprint with anna');
    expect(await json('key', 'list')).toHaveLength(1);
  });

  it('of two kinds are known during a rotation, and an old one proves nothing once it is gone', async () => {
    const next = new Key(host, 'anna-new');
    await pins(host, 'anna', key);
    await signs(host, key);
    await host.send('worker', 'old');
    await signs(host, next);
    await host.send('worker', 'new');
    expect(await marks()).toEqual({ old: true, new: false });
    await pins(host, 'anna', next);
    expect(await marks()).toEqual({ old: true, new: true });
    const [oldest] = await json<{ fingerprint: string }[]>('key', 'list');
    await host.run('key', 'unpin', 'anna', oldest?.fingerprint ?? '');
    expect(await marks()).toEqual({ old: false, new: true });
  });
});

describe.skipIf(!hasSshKeygen)(`who is verified ${WITH_SSH_KEYGEN}`, () => {
  it('is told by log, read, thread, inbox, key verify, chat, MCP and the page', async () => {
    await signs(host, key);
    await pins(host, 'anna', key);
    const good = await host.send('bob', 'good');
    git(host.dir, 'config', '--unset', 'crosstalk.signingKey');
    const bad = await host.send('bob', 'bad');
    await host.send('bob', 'other', '--from', 'carl');
    const shown = async (...argv: string[]): Promise<string> => (await host.run(...argv)).out;
    expect(await shown('log')).toMatch(
      /anna verified → bob[^]*anna unverified → bob[^]*carl → bob/,
    );
    expect(await shown('read', good)).toMatch(/^from +anna {2}verified$/m);
    expect(await shown('read', bad)).toMatch(/^from +anna {2}unverified$/m);
    expect(await shown('thread', good)).toContain('anna → bob  verified');
    expect(await shown('inbox', '--from', 'bob')).toMatch(
      /carl {2}#[^]*anna unverified[^]*anna verified/,
    );
    expect(await shown('key', 'verify', good)).toMatch(/: verified, signed by anna with SHA256:/);
    const verify = await host.run('key', 'verify', bad);
    expect(verify.code).toBe(1);
    expect(verify.out).toContain(
      'unverified, no pinned key of anna has signed this text at this place in this transport; it carries no signature',
    );
    expect(await json('read', good)).toMatchObject({ verified: true });
    expect(await json('thread', bad)).toMatchObject({ roots: [{ verified: false }] });

    const web = await Web.start(host, '--token', TOKEN);
    const get = <T>(path: string): Promise<T> => web.get<T>(path);
    const page = await get<{ messages: Row[] }>('/api/channels/general/messages');
    expect(page.messages.map(({ verified }) => verified)).toEqual([true, false, undefined]);
    const ref = `${host.channel()}/${good}`;
    expect(await get(`/api/message?ref=${ref}`)).toMatchObject({ verified: true });
    expect(await get(`/api/thread?ref=${ref}`)).toMatchObject({ roots: [{ verified: true }] });
    const mcp = await McpClient.start(host);
    const read = await mcp.call('read', { message: good });
    expect(read.data).toMatchObject({ verified: true });
    const came = await mcp.call('inbox', { name: 'bob' });
    expect(came.data['messages']).toMatchObject([{}, { verified: false }, { verified: true }]);
    await mcp.client.close();
    const chat = await withContext(
      { env: { ...process.env, ...host.env }, cwd: host.dir },
      { note: () => undefined },
      async (context) => [
        ...(await messageLines(context, bad)),
        ...(await threadLines(context, good)),
        ...(await inboxLines(context, 'bob')),
      ],
    );
    expect(chat.join('\n')).toMatch(
      /^anna \(unverified\) > bob[^]*anna \(verified\) > bob[^]*carl {2}#[^]*anna \(verified\) {2}#/,
    );
  });

  it('is told by replies, wait, ask and search as well', { tags: 'long' }, async () => {
    await pins(host, 'worker', key);
    await pins(host, 'anna', key);
    await signs(host, key);
    const running = host.start();
    const question = await host.send('worker', 'please weigh the zebra');
    const waited = await host.run('wait', question);
    expect(waited.out).toMatch(/^ {2}from worker \S+ \(unverified\)\n {2}done$/m);
    expect((await host.run('replies', question)).out).toMatch(/from worker \S+ \(unverified\)$/m);
    expect(await json('replies', question)).toMatchObject([
      { replies: [{ from: 'worker', verified: false }, { verified: false }] },
    ]);
    const asked = await host.run('ask', 'worker', 'and the gnu');
    expect(asked.out).toBe('done\n');
    expect(asked.err).toContain('crosstalk ask: the answer is from worker (unverified)\n');
    expect(await json('ask', 'worker', 'and the emu')).toMatchObject({
      answer: { from: 'worker', verified: false },
    });
    await running.stop();
    // The answer of somebody who signs.
    const other = await host.send('bob', 'a question for bob');
    await host.run('reply', question, 'signed by hand');
    const signed = await host.run('replies', question);
    expect(signed.out).not.toContain('(verified)');
    const answer = '2026/06/09/190000000Z-1f2e3d4c5b60.md';
    const said = { from: 'anna', to: [{ name: 'bob' }], re: [other], body: 'mine\n' };
    putFile(host, host.channel(), answer, signedFile(key, host.channel(), answer, said));
    expect((await host.run('replies', other)).out).toContain(`from anna ${answer} (verified)\n`);

    expect((await host.run('search', 'zebra')).out).toMatch(/^anna → worker {2}verified {2}/);
    const around = await host.run('search', 'zebra', '--context', '2');
    expect(around.out).toMatch(/^ {2}> anna verified /m);
    expect(around.out).toMatch(/^ {4}worker unverified /m);
    expect(await json('search', 'zebra')).toMatchObject({ hits: [{ verified: true }] });
    expect(await json('search', 'zebra', '--context', '1')).toMatchObject({
      hits: [{ context: [{}, { hit: true, verified: true }, { from: 'worker', verified: false }] }],
    });
    const mcp = await McpClient.start(host);
    const hits = await mcp.call('search', { words: 'zebra' });
    expect(hits.data).toMatchObject({ hits: [{ verified: true }] });
    const replied = await mcp.call('replies', { messages: [question] });
    expect(JSON.stringify(replied.data)).toMatch(/"from":"worker"[^}]*"verified":false/);
    await mcp.client.close();
  });

  it(
    'is nobody’s business where no key is pinned: no word, no field, no process',
    { tags: 'long' },
    async () => {
      await signs(host, key);
      const relPath = await host.send('worker', 'please');
      await host.once();
      const answer = bus.from('worker').find(({ message }) => message.re.length > 0)?.message;
      const other = await bus.host('desktop', {});
      const started = counts(other);
      await other.run('sync');
      for (const argv of [
        ...[['log'], ['read', relPath], ['thread', relPath], ['inbox'], ['status']],
        ...[
          ['replies', answer?.re[0] ?? ''],
          ['wait', answer?.re[0] ?? ''],
          ['search', 'please'],
        ],
      ]) {
        const plain = await other.run(...argv);
        expect(plain.out + plain.err).not.toMatch(/verified/);
        if (argv[0] === 'inbox' || argv[0] === 'status') continue;
        expect((await other.run(...argv, '--json')).out).not.toMatch(/verified|"sig/);
      }
      expect(started()).toBe(0);
      expect(linesIn(other.state, 'verdict')).toEqual([]);
    },
  );

  it(
    'is found out once for each message: a second look starts no process',
    { tags: 'long' },
    async () => {
      const channel = host.channel();
      await pins(host, 'anna', key);
      const paths = Array.from(
        { length: 12 },
        (_, at) => `2026/06/09/1900000${String(at + 10)}Z-1f2e3d4c5b${String(at + 10)}.md`,
      );
      const files = paths.map((relPath, at) => [
        `data/channels/${channel}/${relPath}`,
        signedFile(key, channel, relPath, {
          from: 'anna',
          to: [{ name: 'bob' }],
          body: `${String(at)}\n`,
        }),
      ]);
      host.edit(Object.fromEntries(files) as Record<string, string>);
      const started = counts(host);
      expect(Object.values(await marks())).toEqual(paths.map(() => true));
      expect(started()).toBe(12);
      expect(Object.values(await marks())).toEqual(paths.map(() => true));
      await host.run('thread', paths[0] ?? '');
      await host.run('read', paths[3] ?? '');
      expect(started()).toBe(12);
      const more = '2026/06/09/190001000Z-1f2e3d4c5b99.md';
      putFile(
        host,
        channel,
        more,
        signedFile(key, channel, more, { from: 'anna', to: [{ name: 'bob' }], body: 'more\n' }),
      );
      await marks();
      expect(started()).toBe(13);
    },
  );

  it('is told of what waits in the outbox as well', async () => {
    await signs(host, key);
    await pins(host, 'anna', key);
    bus.unplug();
    const queued = await host.run('send', '--to', 'bob', 'later');
    const relPath = /^Queued: (.+)$/m.exec(queued.out)?.[1] ?? '';
    expect(await json('read', relPath)).toMatchObject({ queued: true, verified: true });
    expect(await json('thread', relPath)).toMatchObject({ roots: [{ verified: true }] });
    bus.plug();
  });
});
