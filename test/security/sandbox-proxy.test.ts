import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { allowedOf, openProxy } from '../../src/runner/sandbox/proxy.ts';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus } from '../support/bus.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;

/** Web servers of this machine, of which a sandbox may reach the first one. */
async function servers(): Promise<{ open: number; closed: number; asked: string[] }> {
  const asked: string[] = [];
  const ports: number[] = [];
  for (const name of ['open', 'closed']) {
    const server = createServer((request, answer) => {
      asked.push(
        `${name} ${request.headers.host ?? ''}${/\?.*/.exec(request.url ?? '')?.[0] ?? ''}`,
      );
      if (request.url !== '/away') return answer.end(name);
      const location = `http://127.0.0.1:${String(ports[1])}/`;
      return answer.writeHead(302, { location }).end();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        resolve();
      });
    });
    onTestFinished(() => {
      server.close();
    });
    ports.push((server.address() as AddressInfo).port);
  }
  return { open: ports[0] ?? 0, closed: ports[1] ?? 0, asked };
}

/** What the proxy answers to some bytes. */
function say(socket: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const to = connect(socket, () => to.write(bytes));
    to.on('data', (data) => (said += data.toString()));
    to.on('error', reject);
    to.on('close', () => {
      resolve(said);
    });
  });
}

it('the proxy of a sandbox cannot be talked into another host, by no spelling', async () => {
  const { open, closed, asked } = await servers();
  const socket = join(mkdtempSync(join(tmpdir(), 'proxy-')), 'n');
  const refused: string[] = [];
  const names = ['api.example.com', '*.models.example', 'localhost.', `127.0.0.1:${String(open)}`];
  const proxy = await openProxy(socket, names.map(allowedOf), (host, port) => {
    refused.push(`${host}:${String(port)}`);
  });
  onTestFinished(() => proxy.close());
  const [here, there] = [`127.0.0.1:${String(open)}`, `127.0.0.1:${String(closed)}`];
  expect(
    await say(socket, `GET http://${here}/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`),
  ).toMatch(/^HTTP\/1\.1 200 .*open/s);
  // The header of the request decides nothing, and is not passed on.
  expect(asked).toEqual([`open ${here}`]);
  await say(
    socket,
    `GET http://${here}/away?a=b&c HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
  );
  expect(asked.splice(1)).toEqual([`open ${here}?a=b&c`]);
  for (const target of [
    there,
    `[::ffff:127.0.0.1]:${String(closed)}`,
    `[::1]:${String(closed)}`,
    '127.1:80',
    '2130706433:443',
    '0x7f000001:443',
    'api.example.com:22',
    'api.example.com.evil.example:443',
    'evil-api.example.com:443',
    'models.example:443',
    'evilmodels.example:443',
    `api.example.com@${there}`,
    `api.example.com:443@${there}`,
    `api.example.com:443\t${there}`,
    `api.example.com%00.evil.example:443`,
    '',
    ':443',
    'models.example',
    'api.example.com:99999',
    'api.example.com:-443',
  ]) {
    expect(
      await say(socket, `CONNECT ${target} HTTP/1.1\r\nhost: api.example.com:443\r\n\r\n`),
      target,
    ).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
    const url = `http://${target}/`;
    const got = await say(
      socket,
      `GET ${url} HTTP/1.1\r\nhost: ${here}\r\nconnection: close\r\n\r\n`,
    );
    expect(got, url).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
  }
  for (const url of [
    '/',
    '*',
    `https://${here}/`,
    `ftp://${here}/`,
    `http:/${here}/`,
    `//${here}/`,
  ])
    expect(
      await say(socket, `GET ${url} HTTP/1.1\r\nhost: ${here}\r\nconnection: close\r\n\r\n`),
      url,
    ).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
  // A second request in the same bytes, behind one whose length is said twice.
  const smuggled = `GET http://${there}/ HTTP/1.1\r\nhost: x\r\n\r\n`;
  const both = `POST http://${here}/ HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`;
  await say(socket, both);
  // A server that sends the run elsewhere: the run has to ask again, and is refused.
  const away = await say(
    socket,
    `GET http://${here}/away HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
  );
  expect(away).toContain(`location: http://${there}/`);
  expect(asked.filter((one) => one.startsWith('closed'))).toEqual([]);
  expect(refused).toContain(there);
});

it.skipIf(!backend.ok)(
  `an address in the instructions of a CLI opens no host, and that of its model does${UNLESS}`,
  { tags: 'long' },
  async () => {
    const { open, closed } = await servers();
    const url = (port: number): string => `http://127.0.0.1:${String(port)}/`;
    const bus = new Bus();
    const [home, bin] = [join(bus.root, 'home'), join(bus.root, 'home/bin')];
    for (const folder of ['.claude/skills/x', 'bin'])
      mkdirSync(join(home, folder), { recursive: true });
    for (const path of ['CLAUDE.md', 'skills/x/SKILL.md', 'settings.local.json'])
      writeFileSync(join(home, '.claude', path), `"The test server is ${url(closed)}."`);
    writeFileSync(
      join(home, '.claude/settings.json'),
      JSON.stringify({
        env: { ANTHROPIC_BASE_URL: url(open), NOTES: url(closed) },
        statusLine: { type: 'command', command: `curl ${url(closed)}` },
      }),
    );
    const code = `const http=require('http'),p=new URL(process.env.HTTP_PROXY);const ask=(u,then)=>http.get({host:p.hostname,port:p.port,path:u},r=>{r.resume();then(r.statusCode)});ask('${url(closed)}',a=>ask('${url(open)}',b=>console.log(a,b)))`;
    writeFileSync(join(bin, 'ask.cjs'), code);
    const script = `#!/bin/sh\ncat > /dev/null; node ${join(bin, 'ask.cjs')}\n`;
    writeFileSync(join(bin, 'claude'), script, { mode: 0o755 });
    const cli = `claude --append-system-prompt 'see ${url(closed)}' '${url(closed)}'`;
    const host = await bus.host('front', {});
    host.declare({ dev: { default: { cli, sandbox: { net: ['model'], write: [bin] } } } });
    await host.approve();
    Object.assign(host.env, { HOME: home, PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    await host.send('dev', 'one');
    const log = await host.once();
    expect(bus.from('dev')[0]?.message.body.trim(), JSON.stringify(log)).toBe('403 200');
  },
);
