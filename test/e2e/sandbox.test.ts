import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus, events, type Event, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const can = it.skipIf(!backend.ok);

async function pass(host: Host): Promise<Event[]> {
  const ran = await host.run('dispatch', '--once', '--host', host.alias);
  expect(ran.code, ran.err).toBe(0);
  return events(ran.err);
}

/** A web server of this machine, and its port. */
function served(word: string): Promise<number> {
  return portOf(createServer((_, answer) => answer.end(word)));
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve();
    });
  });
  onTestFinished(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Prints what is at an address, by the proxy that the variables name. */
const FETCH = `const http=require('http'),p=new URL(process.env.HTTP_PROXY||'http://127.0.0.1:1');const ask=(u,then)=>http.get({host:p.hostname,port:p.port,path:u},r=>{let t='';r.on('data',d=>t+=d).on('end',()=>then(r.statusCode+' '+t.trim()))}).on('error',e=>then(e.code));`;

can(
  `a run in a sandbox answers, works in its copy, and talks on the bus${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const app = join(bus.root, 'app');
    mkdirSync(app);
    git(app, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(app, 'readme'), 'hello\n');
    git(app, 'add', '.');
    git(app, '-c', 'user.name=o', '-c', 'user.email=o@example.com', 'commit', '-qm', 'first');
    const cli =
      'cat > /dev/null; echo x > new; git add . ; git -c user.name=a -c user.email=a@b commit -qm x; echo y > /tmp/mine; crosstalk send --to other "a part" > /dev/null && echo done $(cat prepared)';
    const dev = { cli, worktree: app, before: 'echo ready > prepared', sandbox: { net: ['none'] } };
    const host = await bus.host('front', {
      dev: { default: dev },
      other: 'cat > /dev/null; echo ok',
    });
    await host.send('dev', 'one');
    const log = await pass(host);
    expect(log.filter(({ event }) => /failed|error/.test(event))).toEqual([]);
    const said = bus.from('dev').map(({ message }) => message);
    expect(said.map(({ body }) => body.trim()).sort()).toEqual(['a part', 'done ready']);
    expect(said.find(({ branch }) => branch !== undefined)?.branch?.changed).toBe(2);
    expect(existsSync('/tmp/mine')).toBe(false);
  },
);

/** A folder on the PATH of a machine that no sandbox shows, with one program in it. */
function hiddenTool(bus: Bus, host: Host, text: string): string {
  const folder = join(bus.root, 'tools');
  mkdirSync(folder);
  writeFileSync(join(folder, 'mytool'), text, { mode: 0o755 });
  host.env['PATH'] = `${process.env['PATH'] ?? ''}:${folder}`;
  return join(folder, 'mytool');
}

can(
  `a program that a sandbox hides from a run is named with its path where it is not found${UNLESS}`,
  async () => {
    const bus = new Bus();
    const tier = { cli: 'cat > /dev/null; mytool', sandbox: { net: ['none'] } };
    const host = await bus.host('front', { dev: { default: tier } });
    const tool = hiddenTool(bus, host, '#!/bin/sh\necho hello\n');
    await host.send('dev', 'one');
    await pass(host);
    expect((await host.run('dlq')).out).toContain(
      `the sandbox hides ${tool}; name its folder in read: of the sandbox of the tier`,
    );
  },
);

can(
  `actor add and set try whether a program starts in its sandbox, and name what is hidden there${UNLESS}`,
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { dev: 'cat' });
    const tool = hiddenTool(bus, host, '#!/bin/sh\nexec sh "$@"\n');
    const bin = join(process.env['HOME'] ?? '', '.local/bin');
    mkdirSync(bin, { recursive: true });
    const script = join(bin, 'starts-mytool');
    writeFileSync(script, `#!${tool}\necho hello\n`, { mode: 0o755 });
    const warning = new RegExp(
      `its program does not start in the sandbox, so mail for (?:dev|odd) would fail: .*the sandbox hides ${tool};`,
    );
    const odd = await host.run('actor', 'add', 'odd', '--cli', `${script} -p`, '--sandbox');
    expect([odd.code, odd.err]).toEqual([0, expect.stringMatching(warning)]);
    const fine = await host.run('actor', 'add', 'fine', '--cli', 'sh -c "cat"', '--sandbox');
    expect([fine.code, fine.err]).toEqual([0, '']);
    await host.run('actor', 'set', 'dev', `cli=${script} -p`);
    const set = await host.run('actor', 'set', 'dev', 'sandbox=default');
    expect([set.code, set.err]).toEqual([0, expect.stringMatching(warning)]);
  },
);

can(
  `a run reaches the hosts that its sandbox names, and no others, and the log says so${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const [open, closed] = [await served('open'), await served('closed')];
    const url = (port: number): string => `http://127.0.0.1:${String(port)}/`;
    const code = `${FETCH}ask('${url(open)}',a=>ask('${url(closed)}',b=>ask('http://localhost:${String(open)}/',c=>console.log([a,b,c].join(' | ')))))`;
    const cli = `cat > /dev/null; node -e "${code.replaceAll('"', '\\"')}"`;
    const tier = { cli, sandbox: { net: [`127.0.0.1:${String(open)}`] } };
    const host = await bus.host('front', {
      dev: { default: tier },
      none: { default: { cli, sandbox: { net: 'none' } } },
    });
    await host.send('dev', 'one');
    const log = await pass(host);
    expect(bus.from('dev')[0]?.message.body.trim()).toBe(
      '200 open | 403 the sandbox of this run does not reach this host | 403 the sandbox of this run does not reach this host',
    );
    const refused = log
      .filter(({ event }) => event === 'sandbox_refused')
      .map(({ host: to }) => to);
    expect(refused).toEqual([`127.0.0.1:${String(closed)}`, `localhost:${String(open)}`]);
    await host.send('none', 'two');
    await pass(host);
    expect(bus.from('none')[0]?.message.body.trim()).toBe(
      'ECONNREFUSED | ECONNREFUSED | ECONNREFUSED',
    );
  },
);

/** A folder with the programs that a dispatcher and its runs need, and no others. */
function programs(bus: Bus, ...names: string[]): string {
  const bin = join(bus.root, 'bin');
  mkdirSync(bin);
  for (const name of names)
    for (const folder of (process.env['PATH'] ?? '').split(':'))
      if (existsSync(join(folder, name)) && !existsSync(join(bin, name)))
        symlinkSync(join(folder, name), join(bin, name));
  return bin;
}

/** Sends 1 MiB over the proxy twenty times at once, and compares what comes back. */
const ECHO = `const http=require('http'),p=new URL(process.env.HTTP_PROXY),sent=Buffer.alloc(1048576,'0123456789abcdefg');let left=20,same=0;for(let i=0;i<20;i++){const r=http.request({host:p.hostname,port:p.port,method:'POST',path:process.argv[2]},a=>{const got=[];a.on('data',d=>got.push(d)).on('end',()=>{if(Buffer.concat(got).equals(sent))same++;if(--left===0)console.log(same+' the same')})});r.on('error',e=>{console.log(e.code);process.exit(1)});r.end(sent)}`;

for (const [forwarder, ...names] of [['Perl', 'perl'], ['Node, where there is no Perl']] as const)
  can(
    `much can be sent over the way to the network at once, with ${forwarder}${UNLESS}`,
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const server = createServer((asked, answer) => asked.pipe(answer));
      const port = await portOf(server);
      writeFileSync(join(bus.root, 'echo.cjs'), ECHO);
      const url = `http://127.0.0.1:${String(port)}/`;
      const cli = `cat > /dev/null; node ${join(bus.root, 'echo.cjs')} ${url}; pgrep -a perl | grep -q INADDR && echo in Perl; test -e /tmp/.network || echo no pipe is left`;
      const sandbox = { net: [`127.0.0.1:${String(port)}`], write: [bus.root] };
      const host = await bus.host('front', { dev: { default: { cli, sandbox } } });
      const usual = ['bwrap', 'cat', 'dash', 'git', 'grep', 'mkfifo', 'node', 'pgrep', 'rm', 'sh'];
      host.env['PATH'] = programs(bus, ...usual, ...names);
      await host.send('dev', 'one');
      await pass(host);
      const perl = names.length === 0 ? '' : 'in Perl\n';
      expect(bus.from('dev')[0]?.message.body).toBe(`20 the same\n${perl}no pipe is left\n`);
    },
  );

can(`write, hide and env of a sandbox are kept to${UNLESS}`, { tags: 'long' }, async () => {
  const bus = new Bus();
  const home = join(bus.root, 'home');
  for (const folder of ['out', 'diary']) mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, 'diary/today'), 'words');
  const cli =
    'cat > /dev/null; echo x > ~/out/file; cat ~/diary/today || echo hidden; echo "$MINE_ONE,$MINE_TWO"';
  const sandbox = { write: ['~/out'], hide: ['~/diary'], env: ['MINE_O*'] };
  const host = await bus.host('front', { dev: { default: { cli, sandbox } } });
  Object.assign(host.env, { HOME: home, MINE_ONE: '1', MINE_TWO: '2' });
  await host.send('dev', 'one');
  await pass(host);
  expect(readFileSync(join(home, 'out/file'), 'utf8')).toBe('x\n');
  expect(bus.from('dev')[0]?.message.body).toContain('hidden\n');
  expect(bus.from('dev')[0]?.message.body).toContain('1,\n');
});

it(
  'a sandbox that cannot be read is refused, and one that is pushed waits for approval',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { dev: 'cat > /dev/null; echo done' });
    for (const sandbox of [
      { wirte: ['~/x'] },
      { net: ['a b'] },
      { net: ['all', 'x.com'] },
      { write: ['x'] },
    ]) {
      host.declare({
        dev: { default: { cli: 'true', sandbox: sandbox as Record<string, string[]> } },
      });
      expect((await host.run('host', 'list')).out).toContain('sandbox');
    }
    host.declare({
      dev: { default: { cli: 'cat > /dev/null; echo other', sandbox: { net: ['none'] } } },
    });
    const shown = await host.run('host', 'show');
    expect(shown.out).toContain('sandbox');
    await host.send('dev', 'one');
    await pass(host);
    expect(bus.from('dev')[0]?.message.body).toBe('done\n');
  },
);

can(`sandbox run shows what an actor would reach${UNLESS}`, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { dev: 'true' });
  for (const [words, why] of [
    ['--actor dev', /dev\.default has no sandbox here; .* actor set dev --tier default sandbox=/],
    ['--actor dve', /does not serve "dve"; did you mean dev\?; it serves dev$/m],
    ['--actor dev --tier fast', /dev has no tier "fast" here, only default$/m],
    ['--tier fast', /--tier "fast" is of no actor; name the actor too, with --actor$/m],
  ] as const) {
    const none = await host.run('sandbox', 'run', ...words.split(' '), '--', 'true');
    expect(none.code).not.toBe(0);
    expect(none.err).toMatch(why);
  }
  const text = await host.run('actor', 'set', 'dev', 'sandbox={net: all}');
  expect(text.err).toContain(
    'a mapping of write, read, hide, net, env, which is written into the host',
  );
  host.declare({
    dev: {
      default: {
        cli: 'cat > /dev/null; echo x > mine; crosstalk send --to dev2 --anyway --attach mine "with a file" >&2; crosstalk status 2>&1; true',
        sandbox: { net: ['none'] },
      },
    },
  });
  await host.approve();
  await host.send('dev', 'one');
  await pass(host);
  const said = bus.from('dev').map(({ message }) => message);
  expect(said.flatMap(({ files = [] }) => files).map(({ name }) => name)).toEqual(['mine']);
  expect(said.map(({ body }) => body).join('')).toContain('host file  hosts/front.md');
  const opened = await host.run('open', '--actor', 'dev');
  expect(opened.code).toBe(1);
  expect(opened.err).toContain('has a sandbox, and sessions in one cannot talk on the bus yet');
  expect(
    (await host.run('sandbox', 'run', '--', 'sh', '-c', 'test ! -s "$HOME/.ssh/id" && exit 7'))
      .code,
  ).toBe(7);
});
