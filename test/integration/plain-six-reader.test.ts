// @module-tag long
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { activation } from '../../src/protocol/activation.ts';
import { Bus } from '../support/bus.ts';
import { hasSshKeygen, Key, signs } from '../support/keys.ts';
import { pass } from '../support/passes.ts';
import { plainlyWoken, plainMemories, plainMessages } from '../support/plain-six.ts';

const HOUR_MS = 60 * 60_000;

it('to a plain 6.0 reader every new message is an ordinary one, which wakes the same actors', async () => {
  const bus = new Bus();
  const form = join(bus.root, 'form.json');
  writeFileSync(form, '{"type":"array"}');
  const boss = `p=$(cat); case $p in *'done by'*) echo summary ;; *) crosstalk send --to worker part >&2; echo 'I have asked the worker.' ;; esac`;
  const asks = `p=$(cat); case $p in *staging*) echo deployed ;; *) crosstalk send --to operator --option staging --option live 'where?' >&2 ;; esac`;
  const says = `crosstalk send --to worker part >&2; echo 'On its way.'`;
  const actors = {
    front: {
      boss,
      asks,
      last: `p=$(cat); case $p in *'done by'*) ;; *) ${says} ;; esac`,
      form: `cat >/dev/null; echo '[1]'`,
      idle: 'true',
      kept: { default: { cli: 'cat >/dev/null; echo kept', session: 'warm' } },
    },
    back: {
      worker: 'cat >/dev/null; echo "done by me"',
      broken: 'no-such-program',
      builder: {
        default: { cli: 'cat >/dev/null; echo built', gate: 'asker', gate_plan: 'echo a plan' },
      },
    },
  };
  const front = await bus.host('front', actors.front);
  const back = await bus.host('back', actors.back);
  const rest = (): Promise<void> => bus.rest([front, back]);

  await front.send('boss', 'goal');
  await front.send('last', 'goal');
  await front.send('broken', 'goal', '--attach', form);
  await front.send('kept', 'goal');
  await front.send('kept', 'and more', '--now');
  await front.send('form', 'goal', '--schema', form, '--option', 'one');
  const deploy = await front.send('asks', 'deploy');
  await rest();
  const question = bus.from('asks')[0]?.relPath ?? '';
  await front.run('reply', question, '--option', '1');
  await rest();
  const answer = bus.from('boss').at(-1)?.relPath ?? '';
  await front.run('reply', answer, 'and now?');
  const wrong = await back.send('idle', 'a mistake');
  await back.run('cancel', wrong, '--only');
  await rest();

  await front.send('builder', 'build');
  await rest();
  const [plan] = bus.from('builder');
  await back.run('approve', plan?.relPath ?? '', '--from', plan?.message.to[0]?.name ?? '');
  await rest();

  if (hasSshKeygen) {
    await signs(front, new Key(front, 'operator'), 'operator');
    await front.send('idle', 'signed');
    await rest();
    expect(bus.from('operator').at(-1)?.message.sig).toBeDefined();
  }

  const fields = new Set(bus.messages().flatMap(({ message }) => Object.keys(message)));
  const news = ['asks', 'options', 'interim', 'printed', 'final', 'failed', 'cancels', 'only'];
  expect([...fields]).toEqual(expect.arrayContaining([...news, 'files', 'schema', 'json']));
  expect([...fields]).toEqual(
    expect.arrayContaining(['proposal', 'decision', 'decides', 'steers']),
  );
  expect(bus.from('kept').map(({ message }) => message.re.length)).toEqual([2]);
  expect(bus.from('builder').at(-1)?.message.body).toBe('built\n');
  expect(bus.messages().some(({ message }) => message.re.includes(deploy))).toBe(true);
  expectPlain(bus, actors);
});

it('to a plain 6.0 reader what starts by itself is ordinary too, and so are the notes of a summary', async () => {
  const bus = new Bus();
  const actors = {
    front: { worker: 'cat >/dev/null; echo built' },
    back: { after: 'cat >/dev/null; echo done', archivist: 'cat >/dev/null; echo "in short"' },
  };
  const front = await bus.host('front', actors.front);
  const back = await bus.host('back', actors.back);
  front.edit({
    'local/schedules/hourly.md':
      '---\nhost: front\nto: worker\nevery: 1h\n---\n/review of this hour\n',
    'local/subscriptions/red.md': '---\nsource: event:build\nto: worker\n---\nfix:\n',
    'local/subscriptions/next.md': '---\nsource: answer:worker\nto: after\n---\nthen:\n',
  });
  await pass(front);
  await pass(front, HOUR_MS);
  await front.run('event', 'publish', 'build', 'it is red', '--id', 'build-7');
  const asked = await front.send('worker', '/review the last change');
  await bus.rest([front, back]);
  const serving = back.start();
  await serving.saw('host_file_loaded');
  const summed = await front.run('compact', asked, '--by', 'archivist');
  expect(summed.code, summed.err).toBe(0);
  await serving.stop();
  for (const words of [
    ['add', '--name', 'on-call', '--subject', 'On call', 'Anna'],
    ['add', '--name', 'on-call', '--subject', 'On call', 'Ben'],
    ['alias', 'on-call', 'duty'],
    ['forget', 'on-call', 'over'],
    ['restore', 'on-call'],
  ])
    expect((await front.run('memory', ...words)).code, words.join(' ')).toBe(0);

  const fields = new Set(bus.messages().flatMap(({ message }) => Object.keys(message.extra)));
  expect([...fields]).toEqual(expect.arrayContaining(['schedule', 'due', 'subscription', 'event']));
  expect(bus.from('schedule')).toHaveLength(1);
  expect(bus.from('subscription').length).toBeGreaterThanOrEqual(4);
  expectPlain(bus, actors);

  const notes = plainMemories(bus.hub);
  const gone = new Set(notes.flatMap(({ supersedes }) => supersedes ?? []));
  const inForce = notes
    .filter(({ file }) => !gone.has(file))
    .map(({ subject, body }) => [subject, body.trim()]);
  expect(inForce).toContainEqual(['On call', 'Ben']);
  expect(inForce).toContainEqual([expect.anything(), 'in short']);
  expect(inForce).toHaveLength(2);
});

/** Every message is read by the rules of plain 6.0 as by ours, and wakes the same actors. */
function expectPlain(bus: Bus, actors: Record<string, Record<string, unknown>>): void {
  const seen = plainMessages(bus.hub);
  expect(seen.map(({ relPath, body }) => [relPath, body])).toEqual(
    bus.messages().map(({ relPath, message }) => [relPath, message.body]),
  );
  const served = Object.entries(actors).flatMap(([host, of]) =>
    Object.keys(of).map((name) => ({ name, host })),
  );
  const writers = new Map(bus.messages().map(({ relPath, message }) => [relPath, message.from]));
  for (const { relPath, message } of bus.messages()) {
    const ours = served.filter(
      ({ name, host }) => activation(message, name, host, (ref) => writers.get(ref)).wakes,
    );
    // It is for the dispatcher that asked, which is none of plain 6.0.
    if (message.decision !== undefined) {
      expect(ours).toEqual([]);
      continue;
    }
    const plain = seen.find((one) => one.relPath === relPath);
    expect(plain && plainlyWoken(plain, served, seen), JSON.stringify(message)).toEqual(
      ours.map(({ name, host }) => `${name}@${host}`),
    );
    if (message.cancels !== undefined) expect(ours).toEqual([]);
  }
}
