import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { put } from '../support/by-hand.ts';
import { until } from '../support/wait.ts';

const COUNT = {
  type: 'object',
  required: ['files'],
  properties: { files: { type: 'integer', minimum: 0 } },
  additionalProperties: false,
};

/** Writes a schema and returns its path. */
function schemaFile(bus: Bus, schema: unknown = COUNT, name = 'schema.json'): string {
  const path = join(bus.root, name);
  writeFileSync(path, typeof schema === 'string' ? schema : JSON.stringify(schema, null, 2));
  return path;
}

/** A CLI that keeps each prompt, `prompt-1` and so on, and prints the next of these texts. */
function saying(bus: Bus, ...texts: string[]): string {
  for (const [at, text] of texts.entries())
    writeFileSync(join(bus.root, `says-${String(at + 1)}`), text);
  const of = (name: string): string => join(bus.root, name);
  return `n=$(( $(ls ${of('')} | grep -c '^prompt-') + 1 )); cat > ${of('prompt-')}$n; cat ${of('says-')}$n`;
}

const prompt = (bus: Bus, run: number): string =>
  readFileSync(join(bus.root, `prompt-${String(run)}`), 'utf8');

async function letters(host: Host): Promise<Record<string, unknown>[]> {
  return JSON.parse((await host.run('dlq', '--json')).out) as Record<string, unknown>[];
}

it.each([
  ['as it is', '{"files": 3}'],
  ['in a code fence', '\n```json\n{"files": 3}\n```\n'],
])('ask prints JSON that fits the schema, %s', { tags: 'long' }, async (_, text) => {
  const bus = new Bus();
  const front = await bus.host('front', { idle: 'true' });
  const back = await bus.host('back', { worker: saying(bus, text) });
  back.start();

  const asked = await front.run('ask', 'worker', 'how many?', '--schema', schemaFile(bus));

  expect(asked).toEqual({ code: 0, out: '{"files": 3}\n', err: '' });
  const [answer] = bus.from('worker');
  expect(answer?.message).toMatchObject({ json: true, body: '{"files": 3}\n' });
  expect(prompt(bus, 1)).toContain(`# The form of your answer\n\n`);
  expect(prompt(bus, 1)).toContain(JSON.stringify(COUNT));
  const shown = await front.run('read', bus.from('operator')[0]?.relPath ?? '');
  expect(shown.out).toContain(JSON.stringify(COUNT));
});

it('a misfit is a failed attempt, of which the next one is told', async () => {
  const bus = new Bus();
  const cli = saying(bus, 'Three files, I think.', '{"files": "three"}', '{"files": 3}');
  const front = await bus.host('front', { worker: { default: { cli, retry_delay: '10ms' } } });
  front.start();

  const asked = await front.run('ask', 'worker', 'how many?', '--schema', schemaFile(bus));

  expect(asked).toMatchObject({ code: 0, out: '{"files": 3}\n' });
  expect(prompt(bus, 1)).not.toContain('last attempt');
  expect(prompt(bus, 2)).toMatch(/^Your last attempt failed: stdout is not JSON: .+$/m);
  expect(prompt(bus, 3)).toMatch(
    /^Your last attempt failed: stdout does not fit the schema: \/files: .*integer.*$/m,
  );
  expect(bus.from('worker')).toHaveLength(1);
  expect(await letters(front)).toEqual([]);
});

it('what never fits is quarantined, and ask ends with the reason', { tags: 'long' }, async () => {
  const bus = new Bus();
  const cli = 'echo "no idea"';
  const front = await bus.host('front', {
    worker: { default: { cli, retry_delay: '10ms', attempts: 2 } },
  });
  front.start();

  const asked = await front.run('ask', 'worker', 'how many?', '--schema', schemaFile(bus));

  expect(asked).toMatchObject({ code: 1, out: '' });
  expect(asked.err).toContain(
    'worker failed on front after 2 attempts: the answer is not the JSON that was asked for',
  );
  expect(await letters(front)).toMatchObject([
    { state: 'quarantined', reason: 'misfit', attempts: 2 },
  ]);
  // It is told by the dispatcher here, and the notice for others may come to the remote after that.
  await until('the notice', () => bus.from('worker').length > 0);
  expect(bus.from('worker').map(({ message }) => message.failed?.reason)).toEqual(['misfit']);
});

it(
  'a word on the way need not fit, and the answer to the first question has to',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const boss = `p=$(cat); case $p in *'done by'*) echo '{"files": 2}' ;; *) crosstalk send --to worker part >&2; echo 'I have asked the worker.' ;; esac`;
    const front = await bus.host('front', { boss });
    const back = await bus.host('back', { worker: 'echo "done by me"' });
    await front.send('boss', 'how many?', '--schema', schemaFile(bus));

    await bus.rest([front, back]);

    const said = bus
      .from('boss')
      .map(({ message }) => [message.body, message.interim, message.json]);
    expect(said).toEqual([
      ['part', undefined, undefined],
      ['I have asked the worker.\n', true, undefined],
      ['{"files": 2}\n', undefined, true],
    ]);
    expect(bus.from('worker')[0]?.message.json).toBeUndefined();
  },
);

it('a last word on the way that does not fit is no answer', { tags: 'long' }, async () => {
  const bus = new Bus();
  const cli = `p=$(cat); case $p in *'done by'*) ;; *) crosstalk send --to worker part >&2; echo 'On its way.' ;; esac`;
  const front = await bus.host('front', { boss: { default: { cli, attempts: 1 } } });
  const back = await bus.host('back', { worker: 'echo "done by me"' });
  await front.send('boss', 'how many?', '--schema', schemaFile(bus));

  await bus.rest([front, back]);

  expect(await letters(front)).toMatchObject([{ state: 'quarantined', reason: 'misfit' }]);
});

it('questions that want different forms go into different runs', { tags: 'long' }, async () => {
  const bus = new Bus();
  const cli = `p=$(cat); case $p in *'The form of your answer'*) echo '{"files": 1}' ;; *) echo 'one file' ;; esac`;
  const front = await bus.host('front', { worker: cli });
  const plain = await front.send('worker', 'how many?');
  const schema = await front.send('worker', 'how many?', '--schema', schemaFile(bus));
  const again = await front.send('worker', 'and there?', '--schema', schemaFile(bus));

  await front.once();

  const answers = bus.from('worker').map(({ message }) => [message.re.toSorted(), message.body]);
  expect(answers).toContainEqual([[plain], 'one file\n']);
  expect(answers).toContainEqual([[schema, again].toSorted(), '{"files": 1}\n']);
});

it('an actor asks for JSON too', { tags: 'long' }, async () => {
  const bus = new Bus();
  const schema = JSON.stringify(COUNT);
  const boss = `p=$(cat); case $p in *'"files": 5'*) echo five ;; *) echo '${schema}' > form.json; crosstalk send --to worker --schema form.json part >&2 ;; esac`;
  const front = await bus.host('front', { boss, worker: `cat >/dev/null; echo '{"files": 5}'` });
  const question = await front.send('boss', 'how many?');

  await bus.rest([front]);

  expect(bus.from('boss').at(-1)?.message).toMatchObject({ re: [question], body: 'five\n' });
  expect(bus.from('worker')[0]?.message.json).toBe(true);
});

it('a schema whose check does not end costs one run, and stops nothing else', async () => {
  const bus = new Bus();
  const cli = `echo '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"'`;
  const front = await bus.host('front', { worker: cli, other: 'echo fine' });
  const relPath = put(front, {
    from: 'mallory',
    to: [{ name: 'worker' }],
    re: [],
    schema: JSON.stringify({ pattern: '^(a+)+$' }),
  });
  const running = front.start();

  await running.saw('quarantined');

  expect(await letters(front)).toMatchObject([
    { messages: [relPath], state: 'quarantined', reason: 'bad_schema', attempts: 1 },
  ]);
  expect(await front.run('ask', 'other', 'well?')).toMatchObject({ code: 0, out: 'fine\n' });
});

it.each([
  ['no JSON', '{type: object}', 'it is not JSON: '],
  ['no object', '[]', 'expected a JSON object'],
  ['an unknown type', { type: 'objct' }, 'it is no JSON Schema: /type: '],
  ['a list for a schema', { properties: { a: [] } }, 'it is no JSON Schema: /properties/a'],
  ['a pattern that is none', { $defs: { a: { pattern: '(' } } }, 'it is no JSON Schema: '],
  ['a reference to nothing', { $ref: '#/$defs/a' }, 'its $ref "#/$defs/a" leads nowhere'],
  ['one that leads out of it', { $ref: 'https://example.com/a' }, 'leads nowhere inside it'],
  ['another draft', { $schema: 'https://example.com/mine' }, 'expected draft 4, 7, 2019-09'],
  ['one of 20 KiB', { description: 'x'.repeat(20_000) }, 'and a message takes 16384'],
])(
  'a schema with %s is refused, and nothing is sent',
  { tags: 'long' },
  async (_, schema, words) => {
    const bus = new Bus();
    const front = await bus.host('front', { worker: 'true' });
    const refused = await front.run(
      'send',
      '--to',
      'worker',
      '--schema',
      schemaFile(bus, schema),
      'x',
    );
    expect(refused.code).toBe(2);
    expect(refused.err).toContain(`--schema: `);
    expect(refused.err).toContain(words);
    expect(refused.err.trimEnd().split('\n')).toHaveLength(1);
    expect(bus.messages()).toEqual([]);
  },
);

it(
  'a schema of another file than one below its folder is not for a run',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const secret = schemaFile(bus, { type: 'object' }, 'secret.json');
    const out = join(bus.root, 'out');
    const cli = `cat >/dev/null; crosstalk send --to other --schema ${secret} x > ${out} 2>&1; echo done`;
    const front = await bus.host('front', { worker: cli, other: 'true' });
    await front.send('worker', 'go');
    await front.once();
    expect(existsSync(out) && readFileSync(out, 'utf8')).toContain(
      'is not for a run: it lies elsewhere',
    );
    expect(bus.from('worker')).toHaveLength(1);
  },
);
