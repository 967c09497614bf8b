import { publishEvent, type PublishedEvent } from '../../../actions/subscriptions/event.ts';
import { readBody } from '../../command/body.ts';
import { inTransport, note, print, text, type Call } from '../../command/command.ts';
import type { CommandSpec } from '../../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'event publish',
    args: '<source> [payload] [-]',
    summary: 'say that something has happened: subscriptions to it give their tasks',
    options: [
      [
        '--id <key>',
        'what makes it this event: the same one, also of another machine, counts once',
      ],
      ['--file <path>', 'take the payload from a file, or from stdin with -'],
    ],
    example: 'crosstalk event publish build --id 4711 "build 4711 is red"',
    run,
  },
];

async function run(call: Call): Promise<number> {
  const [source = '', ...args] = call.args;
  const isGiven = args[0] !== undefined || text(call, 'file') !== undefined;
  // An event may have no payload, and one that is piped in needs no word.
  const payload = isGiven
    ? await readBody({ ...call, args }, 'payload')
    : ((await call.io.readStdin()) ?? '');
  const id = text(call, 'id');
  return inTransport(call, async (context) => {
    const published = await publishEvent(context, { source, payload, id }, { wait: true });
    if (published.state === 'unheard')
      note(
        call,
        `no subscription waits for the event ${source}, so nothing was written; make one with: crosstalk subscription add <name> --source event:${source}`,
      );
    if (published.state === 'duplicate')
      note(call, 'an event with this id was published before, so nothing was written');
    return print(call, published, () => linesOf(published));
  });
}

function linesOf({ state, tasks }: PublishedEvent): string {
  const word = { sent: 'Sent', queued: 'Queued', duplicate: 'Duplicate', unheard: 'Unheard' }[
    state
  ];
  return tasks.length === 0
    ? word
    : tasks.map(({ relPath, subscription }) => `${word}: ${relPath} (${subscription})`).join('\n');
}
