import { countOf } from '../../../protocol/text/words.ts';
import { compact, type Compacted } from '../../../actions/compacting/compact.ts';
import { firstPath, newIdempotencyKey } from '../../../actions/sending/handed.ts';
import { addedMemoryJson } from '../../../actions/shapes/as-json.ts';
import { clockOf } from '../../../actions/clock.ts';
import { given, inTransport, note, print, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import { FROM, TIMEOUT, NO_WAITING, type CommandSpec } from '../../command/spec.ts';
import { ended, timeoutOf, Talk } from '../../view/talk.ts';
import { withoutRepeats } from '../../view/message.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'compact',
    args: '<message>',
    summary: 'have an actor sum up a thread, and keep that as a note',
    details:
      'The note says which messages it covers, and stands in a prompt where they have to be left out. Nothing else makes such notes, and the messages stay as they are.',
    options: [
      ['--by <actor>', 'who sums it up (default: the actor that wrote last in it)'],
      FROM,
      TIMEOUT,
    ],
    interrupt: 'clean',
    notInRun: NO_WAITING,
    example: 'crosstalk compact 1f2e3d4c --by librarian',
    run,
  },
];

async function run(asGiven: Call): Promise<number> {
  const call = withoutRepeats(asGiven);
  const { io } = call;
  const talk = new Talk(call);
  const sender = {
    surroundings: io,
    note: (line: string) => {
      note(call, line);
    },
    open: <T>(work: Parameters<typeof inTransport<T>>[1]) => inTransport(call, work),
    hands: 'whole' as const,
    ...given(call, 'transport'),
  };
  const input = { message: call.args[0] ?? '', ...given(call, 'by', 'from'), login: io.login };
  const marks = newIdempotencyKey(clockOf(io));
  const limits = { timeout: timeoutOf(call), signal: io.stop, marks };
  try {
    return report(call, await compact(sender, input, limits, talk.events));
  } catch (error) {
    if (!io.stop.aborted) throw error;
    const question = firstPath(marks);
    const stands = `; the question may still be answered, take it back with: crosstalk cancel ${question}`;
    note(call, `interrupted; nothing was remembered${talk.isSent ? stands : ''}`);
    return EXIT.interrupted;
  } finally {
    talk.end();
  }
}

function report(call: Call, { asked, added, ...counts }: Compacted): number {
  const { ending, question } = asked;
  if (added === undefined) {
    const { relPath } = question.ref;
    note(call, `there is no summary, so nothing was remembered; ${relPath} had asked for it`);
    print(call, null, () => '');
    return call.io.stop.aborted ? EXIT.interrupted : Math.max(ended(call, ending, [question]), 1);
  }
  const { covered, messages, complete } = counts;
  const others = `${complete ? '' : 'at least '}${countOf(messages, 'message')}`;
  if (covered < messages || !complete)
    note(
      call,
      `it sums up ${complete ? 'the first ' : ''}${String(covered)} of ${others}; there was no room for the others`,
    );
  const word = added.delivered.published ? 'Remembered' : 'Queued';
  return print(call, { ...addedMemoryJson(added), covers: added.memory.covers ?? [] }, () =>
    [`${word}: ${added.file}`, `of ${countOf(covered, 'message')}, by ${added.memory.from}`].join(
      ', ',
    ),
  );
}
