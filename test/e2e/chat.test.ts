import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatMessage } from '../../src/protocol/message.ts';
import { parseRecipients } from '../../src/protocol/address.ts';
import { until } from '../support/wait.ts';
import { Bus, type Host } from '../support/bus.ts';
import { ChatTerminal, hasTmux } from '../support/chat-terminal.ts';

const READY = 'Ctrl-C leaves';
const unless = hasTmux ? '' : ' (skipped unless tmux is installed)';

/** A message by somebody, committed to the bus by hand. */
function written(n: number, from: string, to: string, body: string, re: string[] = []): string {
  const second = String(n).padStart(2, '0');
  return formatMessage({
    from,
    to: parseRecipients(to).to,
    type: 'text',
    timestamp: `2020-06-09T19:00:${second}.000Z`,
    re,
    cause: [],
    extra: {},
    body,
  });
}

function relPath(n: number): string {
  return `2020/06/09/1900${String(n).padStart(2, '0')}000Z-${n.toString(16).padStart(8, '0')}.md`;
}

/** Commits messages to the bus; `[n, from, to, body, re]`. */
function edit(host: Host, ...messages: [number, string, string, string, number?][]): void {
  const folder = `data/channels/${host.channel()}`;
  host.edit(
    Object.fromEntries(
      messages.map(([n, from, to, body, re]) => [
        `${folder}/${relPath(n)}`,
        written(n, from, to, body, re === undefined ? [] : [relPath(re)]),
      ]),
    ),
  );
}

it.skipIf(!hasTmux)(
  `a question is sent, waited for and answered on the screen, and the terminal is given back${unless}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const finish = join(bus.root, 'finish');
    const host = await bus.host('front', {
      worker: `while test ! -e ${finish}; do sleep 0.05; done; printf 'It is\\033[2J done.\\n'`,
    });
    await host.start().saw('host_file_loaded');
    const chat = new ChatTerminal(host, ['general', '--from', 'anna', '--to', 'worker']);
    await chat.shows(READY);
    expect(chat.ask('#{alternate_on}')).toBe('1');
    chat.say('please do it');
    await chat.shows(/anna → worker {2}(waiting for worker|worker is at work on front)… \d+ s/);
    await chat.shows(/worker is at work on front… [1-9]\d* s/);
    expect(chat.coloured()).toContain('\u001b[3');
    chat.type('next\\');
    chat.press('Enter');
    chat.type('draft');
    writeFileSync(finish, '');
    await chat.shows(/│▾ \d\d:\d\d anna → worker {2}worker answered after \d+ s\n/);
    await chat.shows(/│ {4}\d\d:\d\d worker → anna\n.*│ {4}It is\[2J done\.\n/);
    await chat.shows(/│worker> next\n.*│ {8}draft\n/);
    chat.press('C-c', 'C-c');
    await chat.shows('left with 0, terminal as before');
    expect(chat.ask('#{alternate_on} #{cursor_flag} #{wrap_flag}')).toBe('0 1 1');
    expect(chat.lines().filter((line) => line !== '')).toEqual(['left with 0, terminal as before']);
  },
);

it.skipIf(!hasTmux)(
  `what was said before folds, hostile and wide text keeps to its columns, and any size does, without colour${unless}`,
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const hostile =
      'a\u001b[2J\u001b]0;title\u0007\u009b31m\u202e日本語の長い文 🎉 שלום עולם '.repeat(4);
    edit(
      host,
      [1, 'bert', 'worker', 'Which way?'],
      [2, 'worker', 'bert', 'Up.', 1],
      [3, 'bert', 'worker', hostile],
      [4, 'worker', 'bert', hostile, 3],
    );
    await host.run('sync');
    const chat = new ChatTerminal(host, [], { env: { NO_COLOR: '1' } });
    const folded = /│▸ 2020-06-09 bert: Which way\? {2}1 answer {2}\w+ answered after 1 s\n/;
    const lines = await chat.shows(folded);
    const columns = new Set(lines.slice(0, 23).map((line) => line.indexOf('│')));
    expect([...columns]).toEqual([lines[0]!.indexOf('│')]);
    expect(lines.join('\n')).toContain('日本語の長い文');
    expect(lines.join('\n')).not.toContain('Up.');
    expect(chat.coloured()).not.toContain('\u001b[');
    expect(chat.ask('#{pane_title}')).not.toBe('title');
    chat.press('M-Up', 'M-Up', 'Enter');
    await chat.shows('    Up.');
    chat.resize(40, 12);
    await chat.until('no sidebar', (text) => !text.includes('│') && text.includes('日本語'));
    chat.resize(10, 2);
    await chat.until('the input alone', (text) => /^>\n*$/.test(text));
    chat.type('hi');
    await chat.until('what is typed', (text) => /^> hi\n*$/.test(text));
    chat.resize(100, 30);
    await chat.shows(/│ {4}Up\./);
    await chat.shows(/│worker> hi$/m);
  },
);

it.skipIf(!hasTmux)(
  `names and commands are completed, mistakes stay typed, channels change, and drafts outlive the chat${unless}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { concierge: 'true', tester: 'true' });
    await host.run('channel', 'create', 'release');
    await host.send('nobody', 'about the frobnicator', '--channel', 'general');
    const chat = new ChatTerminal(host, ['general', '--from', 'anna']);
    await chat.shows(/concierge> $|concierge>$/m);
    await chat.shows('about the frobnicator');
    chat.type('@tes');
    await chat.completes('[tester] tester@front');
    chat.press('Tab');
    await chat.shows(/> @tester@front$/m);
    chat.press('C-c');
    chat.say('/nonsense');
    await chat.shows('no command /nonsense');
    await chat.shows(/> \/nonsense$/m);
    chat.press('C-c');
    chat.say('/search frobnicator');
    await chat.shows('search: frobnicator');
    chat.press('Escape');
    await chat.shows(/│#general/);
    chat.say('/channel release');
    await chat.shows(/│#release/);
    chat.type('a draft for later');
    chat.press('C-p');
    await chat.shows(/│#general/);
    chat.signal('SIGTERM');
    await chat.shows('left with 0, terminal as before');

    const again = new ChatTerminal(host, ['release', '--from', 'anna']);
    await again.shows(/> a draft for later$/m);
    again.press('C-c');
    await again.shows(/> *$/m);
    again.press('Up', 'Up');
    await again.shows(/> \/channel release$/m);
  },
);

it.skipIf(!hasTmux)(
  `a message that cannot leave is shown as queued, one that fails as a dead letter${unless}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: { default: { cli: 'exit 7', attempts: 1 } } });
    const running = host.start();
    await running.saw('host_file_loaded');
    const chat = new ChatTerminal(host, ['--from', 'anna']);
    await chat.shows(READY);
    chat.say('fail at this');
    await chat.shows(/anna → worker {2}worker failed, dead letter \w{6} here$/m);
    await running.stop();
    renameSync(bus.hub, `${bus.hub}.away`);
    chat.say('cannot leave');
    await chat.shows('queued, not on the remote yet:');
    await chat.shows(/anna → worker {2}queued/);
    renameSync(`${bus.hub}.away`, bus.hub);
    expect((await host.run('sync')).code).toBe(0);
    await chat.shows(/anna → worker {2}waiting for worker… \d+ s/);
  },
);

it.skipIf(!hasTmux)(
  `a message that asks is counted above the conversation, and a number chooses its answer${unless}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const asked = await host.runWith(
      { login: 'carol' },
      ...['send', '--to', 'anna', '--option', 'ship it', '--option', 'wait', 'what now?'],
    );
    const question = /^Sent: (.+)$/m.exec(asked.out)?.[1] ?? '';
    const chat = new ChatTerminal(host, ['general', '--from', 'anna', '--to', 'worker']);
    await chat.shows('1 message asks you: /inbox');
    await chat.shows(/1\) ship it\n.*2\) wait/);
    chat.say('/inbox');
    await chat.shows(/asks you\n.*what now\?\n.*1\) ship it/);
    chat.press('Escape');
    await chat.shows(/#general {2}anna/);
    chat.say('/reply 2');
    const reply = await until('the reply', () => bus.from('anna')[0]);
    expect(reply.message).toMatchObject({
      to: [{ name: 'carol' }],
      re: [question],
      body: 'wait',
    });
    await chat.shows(/anna → carol\n.*wait/);
    await until('no more question', () => !chat.lines().join('\n').includes('asks you'));
    chat.press('C-c');
    await chat.shows('left with 0, terminal as before');
  },
);

it.skipIf(!hasTmux)(
  `a file goes along, an answer is copied, and actors and notes are looked up${unless}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: `cat >/dev/null; echo 'It is done.'` });
    await host.run('memory', 'add', '--subject', 'Zebras are striped', 'All of them.');
    await host.start().saw('host_file_loaded');
    const notes = join(bus.root, 'notes.txt');
    writeFileSync(notes, 'by the way\n');
    const chat = new ChatTerminal(host, ['general', '--from', 'anna', '--to', 'worker']);
    chat.takeClipboard();
    await chat.shows(READY);
    chat.say('/attach nothing');
    await chat.shows('cannot be read');
    chat.say(`/attach ${notes}`);
    await chat.shows('with: notes.txt, 11 bytes');
    chat.say('look at it');
    await chat.shows('It is done.');
    expect(bus.from('anna')[0]?.message).toMatchObject({
      body: 'look at it',
      files: [{ name: 'notes.txt', bytes: 11 }],
    });
    chat.say('/copy');
    await chat.shows('clipboard: 11 bytes');
    expect(chat.clipboard()).toBe('It is done.');
    chat.say('/actors');
    await chat.shows(/worker@front {2}last wrote .* ago/);
    chat.say('/memory zebras');
    await chat.shows('Zebras are striped');
    chat.press('Escape');
    await chat.until('the panel to close', (text) => !text.includes('Esc closes'));
    chat.press('C-c');
    await chat.shows('left with 0, terminal as before');
  },
);
