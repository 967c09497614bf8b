import { existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { fileOptions } from '../../src/cli/run.ts';
import { ask } from '../../src/dispatcher/socket/wake.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';

interface Answer {
  result?: { out: string; err: string; code: number };
  error?: { code: string; message: string };
}

/** A run that lasts until the test ends it, and whatever the test says in its name to the dispatcher. */
async function running(): Promise<{
  bus: Bus;
  host: Host;
  dir: string;
  say: (kind: string, input: unknown) => Promise<Answer>;
  look: (...words: string[]) => Promise<Answer>;
  end: () => Promise<void>;
}> {
  const bus = new Bus();
  const stop = join(bus.root, 'stop');
  const cli = `cat > /dev/null; while [ ! -e ${stop} ]; do sleep 0.05; done; echo done`;
  const host = await bus.host('front', { dev: cli });
  await host.send('dev', 'go on');
  const dispatcher = host.start();
  const dir = await until('a run with a directory', () => {
    const folder = join(host.state, 'run');
    const [name] = existsSync(folder) ? readdirSync(folder) : [];
    return name !== undefined && existsSync(join(folder, name, 's')) && join(folder, name);
  });
  let serial = 0;
  const say = async (kind: string, input: unknown): Promise<Answer> => {
    const id = `01JZZZZZZZZZZZZZZZZZZZ${String(1000 + serial++)}`;
    const request = { kind, id, at: new Date().toISOString(), seed: '0123456789abcdef', input };
    const asked = await ask(join(dir, 's'), { op: 'send', request }, 60_000);
    if (asked.kind !== 'answered') throw new Error(asked.kind);
    return asked.answer.send as Answer;
  };
  return {
    bus,
    host,
    dir,
    say,
    look: (...words) => say('look', { words }),
    end: async () => {
      writeFileSync(stop, '');
      await until('the answer', () => bus.from('dev').length > 0);
      await dispatcher.stop();
    },
  };
}

it(
  'what a run has the dispatcher look up names no file, no other transport and nothing but reading',
  { tags: 'long' },
  async () => {
    const { bus, host, dir, say, look, end } = await running();
    const target = join(bus.root, 'target');
    writeFileSync(join(bus.root, 'report'), 'words');
    const first = await host.send('anna', 'one', '--attach', join(bus.root, 'report'));
    // What it would be asked for in earnest works.
    const read = await look('read', '--', first);
    expect(read.result).toMatchObject({ code: 0, err: '' });
    expect(Buffer.from(read.result?.out ?? '', 'base64').toString()).toContain('one');

    const before = bus.messages().length;
    const hostile: [said: RegExp, ...words: string[]][] = [
      [/not for a run, --files/, 'read', `--files=${target}`, '--', first],
      [/not for a run, --files/, 'read', first, '--files', target],
      [/not for a run, --transport/, 'log', `--transport=${host.dir}`],
      [/not for a run, --transport/, 'log', '--transport', bus.root],
      [/unknown option '--agent-mode'/, '--agent-mode', host.state, bus.root, 'dev', '/', 'log'],
      [/unknown option '--look-up'/, '--look-up', host.state, bus.root, 'log'],
      [/not for a run, whose dispatcher sends/, 'send', '--to', 'anna', 'hello'],
      [/not for a run, whose dispatcher sends/, 'send', '--to=anna', `--file=${target}`],
      [/not for a run, whose dispatcher sends/, 'memory', 'add', '--subject', 'x', 'y'],
      [/not for a run, whose dispatcher sends/, 'channel', '--name', 'x'],
      [/not for a run, whose dispatcher sends/, 'channel', 'create', 'x'],
      [/not for a run, whose dispatcher sends/, 'reply', first, 'x'],
      [/not for a run/, 'host', 'approve'],
      [/not for a run/, 'dlq', '--retry', 'all'],
      [/not for a run/, 'log', '--follow'],
      [/not for a run/, 'sandbox', 'run', '--', 'touch', target],
      [/not for a run/, 'actor', 'set', 'dev', `cli=touch ${target}`],
      [/not for a run/, 'cancel', first],
      [/not for a run/, 'mcp'],
      [/not for a run/, 'web'],
      [/unknown command/, 'eval', 'x'],
      [/not here|no message|cannot be|is no /, 'read', '--', '../../../../etc/passwd'],
      [/no |not /, 'memory', 'show', '--', '../../etc/passwd'],
      [/no |not /, 'actor', 'show', '--', '../hosts/front'],
      [/no |not /, 'log', '--', '../../x'],
    ];
    for (const [said, ...words] of hostile) {
      const { result } = await look(...words);
      expect({ words, ...result }).toMatchObject({ out: '' });
      expect(result?.code, words.join(' ')).not.toBe(0);
      expect(result?.err, words.join(' ')).toMatch(said);
    }
    for (const words of [
      undefined,
      'log',
      [],
      [1],
      ['a\0b'],
      Array(101).fill('x'),
      ['x'.repeat(70_000)],
    ])
      expect(await say('look', { words })).toMatchObject({ error: { code: 'usage' } });
    for (const message of [undefined, 1, '', '../../x'])
      expect(await say('files', { message })).toHaveProperty('error');
    // The folder from which it takes files is the one that the dispatcher has open, whatever lies there now.
    expect(await say('files', { message: first })).toMatchObject({ result: { problems: {} } });
    symlinkSync(bus.root, join(dir, 'drop', 'x'));
    expect(existsSync(target)).toBe(false);
    expect(bus.messages()).toHaveLength(before);
    await end();
  },
);

it(
  'the dispatcher carries out as many commands of a run as it has room for, and says what it left out',
  { tags: 'long' },
  async () => {
    const { host, bus, look, end } = await running();
    const text = 'long words '.repeat(80_000);
    for (let n = 0; n < 6; n++) {
      writeFileSync(join(bus.root, 'long'), `${String(n)} ${text}`);
      expect((await host.run('send', '--to', 'anna', '--file', join(bus.root, 'long'))).code).toBe(
        0,
      );
    }
    const { result } = await look('log', '--json');
    expect(result?.code).toBe(1);
    expect(Buffer.from(result?.out ?? '', 'base64')).toHaveLength(4 * 1024 * 1024);
    expect(result?.err).toContain(
      'crosstalk log: only the first 4 MiB of what it prints are shown',
    );
    const many = await Promise.all(Array.from({ length: 30 }, () => look('channel', 'list')));
    const served = many.filter((one) => one.result?.code === 0);
    const refused = many.filter(
      (one) => one.error?.message.includes('wait for their turn') === true,
    );
    expect(served.length + refused.length).toBe(30);
    expect(refused.length).toBeGreaterThan(0);
    await end();
  },
);

it('a file is named by no option but those that are known to name one', () => {
  const named = COMMANDS.filter(({ inRun }) => inRun).flatMap((spec) =>
    fileOptions(spec).map((option) => `${spec.name} --${option}`),
  );
  expect(named.sort()).toEqual([
    ...['memory add --file', 'read --files', 'reply --attach', 'reply --file'],
    ...['send --attach', 'send --file', 'send --schema'],
  ]);
});
