import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { formatMessage, type Message } from '../../src/protocol/message.ts';
import { digestOfProposal } from '../../src/bus/decisions.ts';
import { Bus, type Host, type Stored } from '../support/bus.ts';
import {
  fileOf,
  hasSshKeygen,
  Key,
  pins,
  putFile,
  signedFile,
  signs,
  WITH_SSH_KEYGEN,
} from '../support/keys.ts';

let bus: Bus;
let tower: Host;
let channel: string;

/** What the runs of builder were told, one file for each. */
const prompts = (kind: 'plan' | 'real'): string[] => {
  const found: string[] = [];
  for (let at = 1; existsSync(join(bus.root, `${kind}-${String(at)}`)); at++)
    found.push(readFileSync(join(bus.root, `${kind}-${String(at)}`), 'utf8'));
  return found;
};
const keeps = (kind: string, says: string): string =>
  `n=1; while [ -e ${bus.root}/${kind}-$n ]; do n=$((n+1)); done; cat > ${bus.root}/${kind}-$n; echo "${says} $n"`;

beforeEach(async () => {
  bus = new Bus();
  tower = await bus.host('tower', {});
  await gated('anna');
  channel = tower.channel();
});

async function gated(gate: string): Promise<void> {
  tower.declare({
    builder: {
      default: { cli: keeps('real', 'done'), gate, gate_plan: keeps('plan', 'my plan is') },
    },
  });
  await tower.approve();
}

const proposals = (): Stored[] =>
  bus.from('builder').filter(({ message }) => message.proposal === true);
const answers = (): string[] =>
  bus
    .from('builder')
    .filter(({ message }) => message.interim !== true)
    .map(({ message }) => message.body.trim());
const asks = (text: string): Promise<string> => tower.send('builder', text, '--from', 'anna');

describe('a tier with a gate', () => {
  it('plans, is approved by whom it names, and then does what it proposed', async () => {
    const question = await asks('move the tables');
    await tower.once();
    const [proposal] = proposals();
    expect(proposal?.message).toMatchObject({
      to: [{ name: 'anna' }],
      re: [question],
      interim: true,
      body: 'my plan is 1\n',
      host: 'tower',
    });
    expect(prompts('plan')[0]).toContain('You are planning. Change nothing');
    expect(answers()).toEqual([]);
    tower.env['CROSSTALK_FROM'] = 'anna';
    expect((await tower.run('thread', question)).out).toContain(
      "builder's plan waits for your approval",
    );
    tower.env['CROSSTALK_FROM'] = 'ben';
    expect((await tower.run('thread', question)).out).toContain(
      "builder's plan waits for anna to decide",
    );
    delete tower.env['CROSSTALK_FROM'];
    await tower.once();
    expect(prompts('plan')).toHaveLength(1);
    const relPath = proposal?.relPath ?? '';
    const approved = await tower.run('approve', relPath, 'slowly', '--from', 'anna');
    expect(approved.code).toBe(0);
    await tower.once();
    expect(prompts('real')).toHaveLength(1);
    expect(prompts('real')[0]).toContain('anna has approved the plan below');
    expect(prompts('real')[0]).toContain('> > slowly');
    expect(prompts('real')[0]).toContain('> > my plan is 1');
    expect(answers()).toEqual(['done 1']);
    await tower.once();
    expect([prompts('plan').length, prompts('real').length]).toEqual([1, 1]);
  });

  it(
    'answers with the note of a denial, and plans anew when it is asked anew',
    { tags: 'long' },
    async () => {
      const question = await asks('move the tables');
      await tower.once();
      await tower.run('deny', proposals()[0]?.relPath ?? '', 'too risky', '--from', 'anna');
      await tower.once();
      expect(answers()).toEqual(['anna denied the plan: too risky']);
      expect(prompts('real')).toEqual([]);
      const [denial] = bus.from('builder').filter(({ message }) => message.interim !== true);
      expect(denial?.message).toMatchObject({ re: [question], to: [{ name: 'anna' }] });
      await tower.once();
      expect(prompts('plan')).toHaveLength(1);
      await tower.run('reply', denial?.relPath ?? '', 'then only one of them', '--from', 'anna');
      await tower.once();
      expect(proposals()).toHaveLength(2);
      await tower.run('approve', proposals()[1]?.relPath ?? '', '--from', 'anna');
      await tower.once();
      expect(answers()).toEqual(['anna denied the plan: too risky', 'done 1']);
    },
  );

  it(
    'lets nothing else slip into an approved run, and loses none of it',
    { tags: 'long' },
    async () => {
      await asks('move the tables');
      await tower.once();
      const [first] = proposals();
      await tower.run('reply', first?.relPath ?? '', 'and drop the old ones', '--from', 'carl');
      await tower.once();
      expect(proposals()).toHaveLength(2);
      await tower.run('approve', first?.relPath ?? '', '--from', 'anna');
      await tower.once();
      expect(prompts('real')).toHaveLength(1);
      expect(prompts('real')[0]).not.toContain('drop the old ones');
      expect(prompts('plan')[1]).toContain('drop the old ones');
    },
  );

  it(
    'does what its plan has read, whatever somebody has put in the place of its mail since',
    { tags: 'long' },
    async () => {
      const question = await asks('move the tables');
      await tower.once();
      const file = fileOf(tower, { channel, relPath: question });
      putFile(tower, channel, question, file.replace('move the tables', 'drop the tables'));
      await tower.once();
      await tower.run('approve', proposals()[0]?.relPath ?? '', '--from', 'anna');
      await tower.once();
      expect(prompts('real')[0]).toContain('move the tables');
      expect(prompts('real')[0]).not.toContain('drop the tables');
    },
  );

  it(
    'is retried where it fails, a plan as a plan, and an approved run by the same approval',
    { tags: 'long' },
    async () => {
      const once = (kind: string, then: string): string =>
        `[ -e ${bus.root}/${kind} ] || { touch ${bus.root}/${kind}; exit 1; }; ${then}`;
      tower.declare({
        builder: {
          default: {
            cli: once('failed-real', keeps('real', 'done')),
            ...{ gate: 'anna', gate_plan: once('failed-plan', keeps('plan', 'my plan is')) },
            retry_delay: '1ms',
          },
        },
      });
      await tower.approve();
      await asks('move the tables');
      const running = tower.start();
      await running.saw('gated');
      await running.saw('push_done', () => proposals().length === 1);
      await tower.run('approve', proposals()[0]?.relPath ?? '', '--from', 'anna');
      await running.saw('push_done', () => answers().length === 1);
      await running.stop();
      expect(running.count('dispatch_failed')).toBe(2);
      expect([prompts('plan').length, answers()]).toEqual([1, ['done 1']]);
      expect(JSON.parse((await tower.run('dlq', '--json')).out)).toEqual([]);
    },
  );

  it(
    'waits over a restart and without limit, and is cancelled like any other mail',
    { tags: 'long' },
    async () => {
      const question = await asks('move the tables');
      const running = tower.start();
      await running.saw('gated');
      await running.stop();
      const status = JSON.parse((await tower.run('status', '--json')).out) as { gated: unknown[] };
      expect(status.gated).toMatchObject([{ actor: 'builder', approver: 'anna' }]);
      await tower.run('cancel', question, '--from', 'anna');
      await tower.once();
      const late = await tower.run('approve', proposals()[0]?.relPath ?? '', '--from', 'anna');
      expect(late).toMatchObject({
        code: 1,
        err: expect.stringMatching(/waits for nobody any more: \S+ takes it back/) as string,
      });
      await tower.once();
      expect(prompts('real')).toEqual([]);
    },
  );

  it(
    'asks whoever began the thread, and the operator where an actor did',
    { tags: 'long' },
    async () => {
      await gated('asker');
      await tower.send('builder', 'one', '--from', 'carl');
      await tower.once();
      expect(proposals()[0]?.message.to).toEqual([{ name: 'carl' }]);
      tower.env['CROSSTALK_FROM'] = 'olga';
      putFile(tower, channel, '2026/06/09/190000000Z-1f2e3d4c5b6a.md', hostile({ host: 'laptop' }));
      await tower.once();
      expect(proposals()[1]?.message.to).toEqual([{ name: 'olga' }]);
    },
  );
});

describe('a plan', () => {
  it(
    'cannot be approved by the run that made it, whatever it tries',
    { tags: 'long' },
    async () => {
      await asks('move the tables');
      await tower.once();
      const [first] = proposals();
      const file = fileOf(tower, { channel, relPath: first?.relPath ?? '' });
      const ref = { channel, relPath: first?.relPath ?? '' };
      const program = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
      const bare = `env -i HOME="$HOME" PATH=/usr/bin:/bin CROSSTALK_STATE_DIR=${tower.state} CROSSTALK_TRANSPORT=${tower.dir} CROSSTALK_FROM=anna ${process.execPath} ${program}`;
      const drop = JSON.stringify({
        ...{ kind: 'send_talk', id: '01M88C69FRATG9Y9JQCC3VRZ4K', at: new Date().toISOString() },
        seed: '00112233445566778899aabbccddeeff',
        input: {
          ...{
            to: '',
            body: 'yes',
            reply: `${channel}/${ref.relPath}`,
            isNew: false,
            login: 'anna',
          },
          ...{ decision: 'approve', decides: digestOfProposal(ref, file), wait: false },
        },
      });
      const tries = [
        `crosstalk approve ${ref.relPath} --from anna --yes`,
        `env -u CROSSTALK_RUN_DIR crosstalk approve ${ref.relPath} --from anna --yes`,
        `CROSSTALK_FROM=anna CROSSTALK_RUN_DIR= crosstalk approve ${ref.relPath} --yes`,
        `${bare} approve ${ref.relPath} --from anna --yes`,
        `setsid ${bare} approve ${ref.relPath} --from anna --yes`,
        `printf '%s' '${drop}' > "$CROSSTALK_RUN_DIR/drop/01M88C69FRATG9Y9JQCC3VRZ4K.json"; sleep 0`,
      ];
      const log = join(bus.root, 'tries');
      const attempts = tries.map((one) => `{ ${one}; } >> ${log} 2>&1; echo "code $?" >> ${log}`);
      writeFileSync(
        join(bus.root, 'tries.sh'),
        `cat > /dev/null\n${attempts.join('\n')}\necho more\n`,
      );
      tower.declare({
        builder: {
          default: {
            ...{ cli: keeps('real', 'done'), gate: 'anna' },
            gate_plan: `sh ${join(bus.root, 'tries.sh')}`,
          },
        },
      });
      await tower.approve();
      await tower.send('builder', 'something else', '--from', 'anna');
      await tower.once();
      await tower.once();
      const said = readFileSync(log, 'utf8');
      expect(said.match(/not for a run/g)).toHaveLength(5);
      expect(said.match(/^code [12]$/gm)).toHaveLength(5);
      expect(prompts('real')).toEqual([]);
      const decisions = bus.messages().filter(({ message }) => message.decision !== undefined);
      expect(decisions).toEqual([]);
      // Only the person's own word is left.
      await tower.run('approve', first?.relPath ?? '', '--from', 'anna');
      await tower.once();
      expect(prompts('real')).toHaveLength(1);
    },
  );
});

function hostile(said: Partial<Message>): string {
  return formatMessage({
    from: 'lead',
    to: [{ name: 'builder' }],
    type: 'text',
    timestamp: '2026-06-09T19:00:00.000Z',
    re: [],
    cause: [],
    extra: {},
    body: 'do it\n',
    ...said,
  });
}

describe('what cannot be gated', () => {
  it('is refused when it is written, and held when it is pushed', async () => {
    const unset = await tower.run('actor', 'set', 'builder', 'gate_plan=');
    expect(unset).toMatchObject({
      code: 1,
      err: expect.stringContaining('no planning mode of its command is known') as string,
    });
    tower.declare({ builder: { default: { cli: 'my-agent', gate: 'anna' } } });
    const shown = await tower.run('host', 'show', '--json');
    expect(shown.out).toContain('no planning mode of its command is known');
    await asks('move the tables');
    await tower.once();
    expect([prompts('plan').length, prompts('real').length]).toEqual([1, 0]);
  });
});

describe.skipIf(!hasSshKeygen)(`from another machine ${WITH_SSH_KEYGEN}`, () => {
  let laptop: Host;
  let key: Key;
  beforeEach(async () => {
    laptop = await bus.host('laptop', {});
    key = new Key(laptop, 'anna');
    await signs(laptop, key);
  });

  it('a signed reply approves; a stranger’s, an unsigned and a stale one count for nothing', async () => {
    await pins(tower, 'anna', key);
    await laptop.send('builder', 'move the tables');
    await tower.once();
    const [proposal] = proposals();
    const at = proposal?.relPath ?? '';
    const file = fileOf(tower, { channel, relPath: at });
    const said = (from: string, decides: string): Parameters<typeof signedFile>[3] => ({
      from,
      to: [{ name: 'builder', host: 'tower' }],
      re: [at],
      decision: 'approve',
      decides,
      body: 'yes\n',
    });
    const place = (serial: number): string =>
      `2026/06/09/19000${String(serial)}000Z-aaaaaaaaaaaa.md`;
    const digest = digestOfProposal({ channel, relPath: at }, file);
    // A stranger's key, no signature, another text.
    const mallory = new Key(laptop, 'mallory');
    putFile(tower, channel, place(1), signedFile(mallory, channel, place(1), said('anna', digest)));
    putFile(tower, channel, place(2), unsigned(said('anna', digest)));
    const stale = signedFile(key, channel, place(3), said('anna', 'b'.repeat(64)));
    putFile(tower, channel, place(3), stale);
    putFile(
      tower,
      channel,
      place(4),
      signedFile(mallory, channel, place(4), said('mallory', digest)),
    );
    const events = await tower.once();
    expect(prompts('real')).toEqual([]);
    const ignored = events.filter(({ event }) => event === 'decision_ignored');
    expect(ignored.map(({ message, reason }) => [message, reason])).toEqual([
      [place(1), 'unsigned'],
      [place(2), 'unsigned'],
      [place(3), 'stale'],
      [place(4), 'stranger'],
    ]);
    await laptop.run('sync');
    expect((await laptop.run('approve', at, 'go')).code).toBe(0);
    await tower.once();
    expect(answers()).toEqual(['done 1']);
  });

  it(
    'nothing counts without a pinned key, and pinning one is enough later',
    { tags: 'long' },
    async () => {
      await laptop.send('builder', 'move the tables');
      await tower.once();
      await laptop.run('sync');
      await laptop.run('approve', proposals()[0]?.relPath ?? '');
      await tower.once();
      expect(prompts('real')).toEqual([]);
      await pins(tower, 'anna', key);
      await tower.once();
      expect(answers()).toEqual(['done 1']);
    },
  );

  it(
    'a signed approval approves nothing else, in whatever place it is put',
    { tags: 'long' },
    async () => {
      await pins(tower, 'anna', key);
      await laptop.send('builder', 'move the tables');
      await laptop.send('builder', 'drop the tables');
      await tower.once();
      await tower.once();
      const [first, second] = proposals();
      await laptop.run('sync');
      expect((await laptop.run('approve', first?.relPath ?? '')).code).toBe(0);
      const [approval] = bus.messages().filter(({ message }) => message.decision === 'approve');
      const file = fileOf(tower, { channel, relPath: approval?.relPath ?? '' });
      const moved = file.replaceAll(first?.relPath ?? '', second?.relPath ?? '');
      const other = (await laptop.run('channel', 'create', '--name', 'other', '--json')).out;
      const { id } = JSON.parse(other) as { id: string };
      const place = '2026/06/09/190100000Z-aaaaaaaaaaaa.md';
      putFile(tower, channel, place, moved);
      putFile(tower, channel, '2026/06/09/190200000Z-aaaaaaaaaaaa.md', file);
      putFile(tower, id, place, file);
      const events = [...(await tower.once()), ...(await tower.once())];
      expect(answers()).toEqual(['done 1']);
      expect(prompts('real')[0]).toContain('move the tables');
      expect(prompts('real')[0]).not.toContain('drop the tables');
      const ignored = events.filter(({ event }) => event === 'decision_ignored');
      expect(ignored).toContainEqual(
        expect.objectContaining({ message: place, reason: 'unsigned' }),
      );
    },
  );

  it(
    'a proposal that somebody replaces is not the one that is approved',
    { tags: 'long' },
    async () => {
      await pins(tower, 'anna', key);
      await laptop.send('builder', 'move the tables');
      await tower.once();
      const [proposal] = proposals();
      const at = proposal?.relPath ?? '';
      const file = fileOf(tower, { channel, relPath: at });
      putFile(tower, channel, at, file.replace('my plan is', 'a harmless plan'));
      await laptop.run('sync');
      expect((await laptop.run('approve', at)).code).toBe(0);
      const events = await tower.once();
      expect(events.find(({ event }) => event === 'decision_ignored')).toMatchObject({
        reason: 'stale',
      });
      expect(prompts('real')).toEqual([]);
    },
  );
});

function unsigned(said: Parameters<typeof signedFile>[3]): string {
  return formatMessage({
    type: 'text',
    timestamp: '2026-06-09T19:00:00.000Z',
    re: [],
    cause: [],
    extra: {},
    ...said,
  });
}
