import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  approverOf,
  judge,
  type Candidate,
  type Proposal,
} from '../../src/protocol/decision/judge.ts';
import { formatMessage, parseMessage, type Message } from '../../src/protocol/message.ts';

const DIGEST = 'a'.repeat(64);
const PROPOSAL: Proposal = {
  channel: '6b0e6a80-0c0f-4f0c-8d0e-0123456789ab',
  relPath: '2026/06/09/190000000Z-1f2e3d4c5b6a.md',
  digest: DIGEST,
  approver: 'anna',
};

function candidate(
  serial: number,
  message: Partial<Message> = {},
  known: Partial<Candidate> = { isMadeHere: true },
): Candidate {
  const relPath = `2026/06/09/19000${String(serial)}000Z-0f2e3d4c5b6a.md`;
  return {
    relPath,
    message: {
      from: 'anna',
      to: [{ name: 'builder', host: 'tower' }],
      type: 'text',
      timestamp: '2026-06-09T19:00:00.000Z',
      re: [PROPOSAL.relPath],
      cause: [],
      decision: 'approve',
      decides: DIGEST,
      extra: {},
      body: 'Approved.\n',
      ...message,
    },
    isMadeHere: false,
    ...known,
  };
}

const SIGNED = { verified: true };

describe('a decision on a proposal', () => {
  it('counts if the approver has made it here', () => {
    const { decided, ignored } = judge(PROPOSAL, [candidate(1)]);
    expect(decided).toMatchObject({ decision: 'approve', by: 'here', from: 'anna' });
    expect(ignored).toEqual([]);
  });

  it('counts if it is signed by a key that is pinned for the approver', () => {
    expect(judge(PROPOSAL, [candidate(1, { decision: 'deny' }, SIGNED)]).decided).toMatchObject({
      decision: 'deny',
      by: 'signed',
    });
  });

  it.each([
    ['a stranger’s, though signed', { from: 'mallory' }, SIGNED, 'stranger'],
    ['a stranger’s, made here', { from: 'mallory' }, { isMadeHere: true }, 'stranger'],
    ['unsigned', {}, { verified: false }, 'unsigned'],
    ['by a name of which no key is pinned', {}, {}, 'not_pinned'],
    ['about another text', { decides: 'b'.repeat(64) }, SIGNED, 'stale'],
    ['about no text', { decides: undefined }, { isMadeHere: true }, 'stale'],
    ['written by a dispatcher for a run', { host: 'tower' }, SIGNED, 'from_run'],
  ] as const)('counts for nothing if it is %s', (_, message, known, reason) => {
    const { decided, ignored } = judge(PROPOSAL, [
      candidate(1, message as Partial<Message>, known),
    ]);
    expect(decided).toBeUndefined();
    expect(ignored).toMatchObject([{ reason }]);
  });

  it('is the first of several, and an earlier look is not replaced', () => {
    const both = [candidate(1, { decision: 'deny' }), candidate(2)];
    const first = judge(PROPOSAL, both);
    expect(first.decided).toMatchObject({ decision: 'deny' });
    expect(first.ignored).toMatchObject([{ reason: 'late', decision: 'approve' }]);
    // The history was rewritten, so that the order is another one.
    expect(judge(PROPOSAL, both.toReversed(), first.decided).decided).toEqual(first.decided);
    expect(judge(PROPOSAL, [], first.decided).decided).toEqual(first.decided);
  });

  it('is nothing that names another message, or says nothing', () => {
    const other = '2026/06/09/190000000Z-aaaaaaaaaaaa.md';
    const silent = candidate(2);
    delete silent.message.decision;
    expect(judge(PROPOSAL, [candidate(1, { re: [other] }), silent])).toEqual({ ignored: [] });
  });

  it('never counts by anything but a person here or a pinned key, over the very text', () => {
    const any = fc.record({
      from: fc.constantFrom('anna', 'Anna', 'anna ', 'mallory', 'builder'),
      host: fc.constantFrom(undefined, 'tower'),
      decides: fc.constantFrom(undefined, DIGEST, 'b'.repeat(64)),
      decision: fc.constantFrom('approve' as const, 'deny' as const),
      isMadeHere: fc.boolean(),
      verified: fc.constantFrom(undefined, true, false),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 9 }), (all) => {
        const made = all.map(({ isMadeHere, verified, host, decides, ...message }, at) =>
          candidate(
            at,
            {
              ...message,
              ...(host && { host }),
              ...(decides ? { decides } : ({ decides: undefined } as object)),
            },
            { isMadeHere, ...(verified !== undefined && { verified }) },
          ),
        );
        const sound = all.findIndex(
          (one) =>
            one.from === 'anna' &&
            one.host === undefined &&
            one.decides === DIGEST &&
            (one.isMadeHere || one.verified === true),
        );
        const { decided, ignored } = judge(PROPOSAL, made);
        expect(decided?.relPath).toBe(made[sound]?.relPath);
        expect(ignored.length).toBe(all.length - (sound < 0 ? 0 : 1));
      }),
    );
  });

  it('is an ordinary reply in its file, and what cannot be read of it decides nothing', () => {
    const { message } = candidate(1);
    const text = formatMessage(message);
    const read = parseMessage(Buffer.from(text));
    expect(read).toEqual({ ok: true, value: message });
    const odd = parseMessage(Buffer.from(text.replace('decision: approve', 'decision: Approve')));
    expect(odd.ok && odd.value.decision).toBeUndefined();
    expect(odd.ok && odd.value.extra).toMatchObject({ decision: 'Approve' });
  });
});

describe('who decides', () => {
  const isActor = (name: string): boolean => name === 'builder';

  it('is whom the tier names, or the person who began the thread', () => {
    expect(approverOf('carl', { from: 'anna' }, 'olga', isActor)).toBe('carl');
    expect(approverOf('asker', { from: 'anna' }, 'olga', isActor)).toBe('anna');
  });

  it('is the operator where an actor began the thread, which cannot decide', () => {
    expect(approverOf('asker', { from: 'lead', host: 'laptop' }, 'olga', isActor)).toBe('olga');
    expect(approverOf('asker', { from: 'builder' }, 'olga', isActor)).toBe('olga');
    expect(approverOf('asker', undefined, 'olga', isActor)).toBe('olga');
  });
});
