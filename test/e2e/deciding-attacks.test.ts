import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { digestOfProposal } from '../../src/bus/decisions.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { Decided } from '../../src/state/keys/decided.ts';
import { Bus, type Host } from '../support/bus.ts';
import {
  answers,
  approve,
  asking,
  builder,
  forged,
  place,
  planned,
  proposals,
} from '../support/deciding.ts';
import { setBack, tipOf } from '../support/history.ts';
import {
  fileOf,
  hasSshKeygen,
  Key,
  pins,
  putFile,
  signs,
  WITH_SSH_KEYGEN,
} from '../support/keys.ts';
import { Program } from '../support/process.ts';

let bus: Bus;
let tower: Host;
let channel: string;
beforeEach(async () => {
  bus = new Bus();
  tower = await bus.host('tower', builder());
  channel = tower.channel();
});

const relPaths = (): string[] => proposals(bus).map(({ relPath }) => relPath);
/** The proposal for which the machine waits. */
async function waiting(): Promise<string> {
  const ran = await tower.run('status', '--json');
  const { gated } = JSON.parse(ran.out) as { gated: { proposal: string }[] };
  expect(gated).toHaveLength(1);
  return gated[0]?.proposal ?? '';
}
/** Lets the dispatcher see what came, and see what it has pushed itself. */
const passes = async (): Promise<void> => {
  await tower.once();
  await tower.once();
};

describe('a proposal', () => {
  it('that somebody puts another text in the place of is made once more, and decided on there', async () => {
    const proposal = await planned(tower);
    const { relPath } = proposal;
    const file = fileOf(tower, proposal);
    putFile(tower, channel, relPath, file.replace('my plan', 'a harmless plan'));
    await tower.news();
    const early = await tower.run('approve', relPath, '--from', 'anna');
    expect(early).toMatchObject({
      code: 1,
      err: expect.stringContaining('somebody has changed it') as string,
    });
    await passes();
    const [again, ...more] = relPaths().filter((one) => one !== relPath);
    expect(more).toEqual([]);
    expect(await asking(tower)).toEqual([again]);
    expect(proposals(bus).find((one) => one.relPath === again)?.message.body).toBe('my plan\n');
    const late = await tower.run('approve', relPath, '--from', 'anna');
    expect(late).toMatchObject({
      code: 1,
      err: expect.stringContaining('takes it back') as string,
    });
    await approve(tower, { relPath: again ?? '' });
    await passes();
    expect(answers(bus)).toEqual(['done']);
    expect(relPaths()).toHaveLength(2);
  });

  it('that somebody makes into something else is made once more', { tags: 'long' }, async () => {
    const proposal = await planned(tower);
    const file = fileOf(tower, proposal);
    for (const change of [
      file.replace('proposal: true\n', ''),
      file.replace('to: anna', 'to: mallory'),
      file.replace('host: tower', 'host: elsewhere'),
      'no message\n',
    ]) {
      expect(change).not.toBe(file);
      const before = await waiting();
      putFile(tower, channel, before, change);
      await passes();
      const after = await waiting();
      expect(after).not.toBe(before);
      expect((await asking(tower))[0]).toBe(after);
    }
    await approve(tower, { relPath: await waiting() });
    await passes();
    expect(answers(bus)).toEqual(['done']);
  });

  it('that somebody removes is put back, as it was', { tags: 'long' }, async () => {
    const proposal = await planned(tower);
    const file = fileOf(tower, proposal);
    tower.remove(messageFile(channel, proposal.relPath));
    await passes();
    expect(fileOf(tower, proposal)).toBe(file);
    expect(await asking(tower)).toEqual([proposal.relPath]);
    await approve(tower, proposal);
    await passes();
    expect(answers(bus)).toEqual(['done']);
  });

  it(
    'is not decided on, or planned, twice where the state directory is restored',
    { tags: 'long' },
    async () => {
      await tower.once();
      const copy = (name: string): void => {
        execFileSync('cp', ['-R', tower.state, `${tower.state}-${name}`]);
      };
      const restore = (name: string): void => {
        rmSync(tower.state, { recursive: true });
        execFileSync('cp', ['-R', `${tower.state}-${name}`, tower.state]);
      };
      copy('before');
      const lost = await planned(tower);
      restore('before');
      await passes();
      // The plan is lost, and its proposal with it; another one waits.
      const [relPath = ''] = await asking(tower);
      expect(relPath).not.toBe(lost.relPath);
      const late = await tower.run('approve', lost.relPath, '--from', 'anna');
      expect(late.err).toContain('nothing waits for a decision');
      copy('planned');
      await approve(tower, { relPath });
      await passes();
      restore('planned');
      await passes();
      expect(answers(bus)).toEqual(['done']);
      expect(await asking(tower)).toEqual([]);
    },
  );

  it('that is lost when the bus is set back is there again, once', async () => {
    await tower.send('builder', 'move the tables', '--from', 'carl');
    const before = tipOf(bus);
    await tower.once();
    const [relPath = ''] = relPaths();
    setBack(bus, before);
    await passes();
    expect(relPaths()).toEqual([relPath]);
    expect(await asking(tower)).toEqual([relPath]);
    await approve(tower, { relPath });
    const decided = tipOf(bus);
    await tower.once();
    expect(answers(bus)).toEqual(['done']);
    // Nor is anything done twice when the answer is lost.
    setBack(bus, decided);
    await passes();
    expect(answers(bus)).toEqual(['done']);
    expect(relPaths()).toEqual([relPath]);
  });
});

describe('a decision', () => {
  it.skipIf(!hasSshKeygen)(
    `that is lost before it was seen leaves its proposal open, and can be made again ${WITH_SSH_KEYGEN}`,
    { tags: 'long' },
    async () => {
      const proposal = await planned(tower);
      const laptop = await bus.host('laptop', {});
      const key = new Key(laptop, 'anna');
      await signs(laptop, key);
      await pins(tower, 'anna', key);
      const before = tipOf(bus);
      await approve(laptop, proposal);
      expect(await asking(laptop)).toEqual([]);
      setBack(bus, before);
      expect(await asking(laptop)).toEqual([proposal.relPath]);
      await approve(laptop, proposal);
      await passes();
      expect(answers(bus)).toEqual(['done']);
    },
  );

  it.skipIf(!hasSshKeygen)(
    `is not made where it would be ignored, and can be made once there is a key ${WITH_SSH_KEYGEN}`,
    async () => {
      const proposal = await planned(tower);
      const { relPath } = proposal;
      const laptop = await bus.host('laptop', {});
      await laptop.news();
      const refused = await laptop.run('approve', relPath, '--from', 'anna');
      expect(refused).toMatchObject({
        code: 1,
        err: expect.stringMatching(/proposed on tower.*only if it is signed.*key create/) as string,
      });
      expect(bus.from('anna')).toEqual([]);
      // Nor does one count there that an older version has made without a signature.
      const decides = digestOfProposal(proposal, fileOf(laptop, proposal));
      const text = forged({ re: [relPath], decision: 'approve', decides });
      const path = messageFile(channel, place(1));
      await new Decided(laptop.state).note([{ path, content: text }]);
      putFile(laptop, channel, place(1), text);
      expect(await asking(laptop)).toEqual([relPath]);
      const key = new Key(laptop, 'anna');
      await signs(laptop, key);
      await pins(tower, 'anna', key);
      await approve(laptop, { relPath });
      await passes();
      expect(answers(bus)).toEqual(['done']);
    },
  );

  it.skipIf(!hasSshKeygen)(
    `counts, and closes its proposal, whatever the clock of its machine says ${WITH_SSH_KEYGEN}`,
    { tags: 'long' },
    async () => {
      const laptop = await bus.host('laptop', {});
      const key = new Key(laptop, 'anna');
      await signs(laptop, key);
      await pins(tower, 'anna', key);
      const offset = join(bus.root, 'offset');
      const clock = fileURLToPath(new URL('../support/shifted-clock.cjs', import.meta.url));
      const shifted = { NODE_OPTIONS: `--require ${clock}`, CLOCK_OFFSET_FILE: offset };
      const machine = { dir: laptop.dir, env: { ...laptop.env, ...shifted } };
      for (const [at, days] of [-40, 40].entries()) {
        const { relPath } = await planned(tower, `task ${String(days)}`);
        await laptop.news();
        writeFileSync(offset, String(days * 86_400));
        const program = new Program(machine, 'approve', relPath);
        expect([await program.ended(), program.err]).toEqual([0, expect.any(String)]);
        expect(await asking(laptop)).toEqual([]);
        expect(await asking(tower)).toEqual([]);
        await passes();
        expect(answers(bus)).toHaveLength(at + 1);
      }
    },
  );

  it('is made once, however many make one at the same time', { tags: 'long' }, async () => {
    const { relPath } = await planned(tower);
    const words = ['approve', 'deny', 'approve', 'deny'];
    const programs = words.map(
      (word) => new Program(tower, word, relPath, '--from', 'anna', '--yes'),
    );
    const codes = await Promise.all(programs.map((program) => program.ended()));
    expect(codes.toSorted()).toEqual([0, 1, 1, 1]);
    const made = bus.from('anna');
    expect(made).toHaveLength(1);
    expect(words[codes.indexOf(0)]).toBe(made[0]?.message.decision);
    for (const [at, code] of codes.entries())
      if (code === 1) expect(programs[at]?.err).toMatch(/is decided: \S+ (approves|denies) it/);
  });

  it('is no reply with yes, whose writer is told how to decide', { tags: 'long' }, async () => {
    const { relPath } = await planned(tower);
    const [suffix = ''] = /[0-9a-f]+(?=\.md$)/.exec(relPath) ?? [];
    const ran = await tower.run('reply', suffix, 'yes', '--from', 'anna');
    expect(ran.code).toBe(0);
    expect(ran.err).toContain(
      `this reply decides nothing on ${relPath}; decide with: crosstalk approve ${relPath}`,
    );
    expect(await asking(tower)).toEqual([relPath]);
    const other = await tower.run('reply', suffix, 'and the old ones', '--from', 'carl');
    expect(other.err).not.toContain('decides nothing');
  });
});
