import {
  addSubscription,
  enableSubscription,
  removeSubscription,
  type EditedSubscription,
} from '../../../actions/subscriptions/edit.ts';
import {
  listSubscriptions,
  showSubscription,
  type ShownSubscription,
} from '../../../actions/subscriptions/list.ts';
import { readBody } from '../../command/body.ts';
import { flag, inTransport, note, print, text, type Call } from '../../command/command.ts';
import { ANSWERED, type CommandSpec } from '../../command/spec.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { colourless, table } from '../../view/render.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'subscription list',
    summary: 'tasks that follow on answers and events: on what, for whom',
    example: 'crosstalk subscription list',
    paged: true,
    run: list,
  },
  {
    name: 'subscription add',
    args: '<name> [text] [-]',
    summary: 'let a task follow on every answer of an actor, or on an event',
    details:
      'The task is the text, then the answer or the payload. It is a file, local/subscriptions/<name>.md, which you can edit.',
    options: [
      ['--source <source>', 'answer:<actor> or event:<name>'],
      ['--to <addresses>', 'who gets the task: names, name@host, or all'],
      ANSWERED,
      ['--match <text>', 'only if this word is in it, or /regex/ matches (flags i, m and s)'],
      ['--once', 'fire only once'],
      ['--channel <channel>', 'the channel of the task (default: that of the answer)'],
      ['--tier <tier>', 'the tier that handles it'],
      ['--host <alias>', 'the host that fires (default: the one that has answered)'],
      ['--file <path>', 'take the text from a file, or from stdin with -'],
    ],
    example:
      'crosstalk subscription add review --source answer:coder --to reviewer "Review what was done:"',
    run: add,
  },
  {
    name: 'subscription show',
    args: '<subscription>',
    summary: 'one subscription with its file',
    example: 'crosstalk subscription show review',
    run: show,
  },
  {
    name: 'subscription pause',
    args: '<subscription>',
    summary: 'let nothing follow until --off',
    options: [['--off', 'let it go on']],
    example: 'crosstalk subscription pause review',
    run: pause,
  },
  {
    name: 'subscription remove',
    args: '<subscription>',
    summary: 'remove a subscription; what it has given stays',
    example: 'crosstalk subscription remove review',
    run: remove,
  },
];

const nameOf = ({ args }: Call): string => args[0] ?? '';

async function add(call: Call): Promise<number> {
  const rest = { ...call, args: call.args.slice(1) };
  // Without a text the task is the payload alone: nothing is waited for that was not given.
  const isGiven = rest.args[0] !== undefined || text(call, 'file') !== undefined;
  const body = isGiven ? await readBody(rest, 'text') : '';
  return inTransport(call, async (context) => {
    const added = await addSubscription(context, {
      name: nameOf(call),
      body,
      from: text(call, 'from'),
      login: call.io.login,
      fields: {
        source: text(call, 'source'),
        to: text(call, 'to'),
        channel: text(call, 'channel'),
        tier: text(call, 'tier'),
        match: text(call, 'match'),
        host: text(call, 'host'),
        once: flag(call, 'once') ? 'true' : undefined,
      },
    });
    return tell(call, added, 'Subscribed');
  });
}

function tell(call: Call, { name, path, delivered }: EditedSubscription, word: string): number {
  const status = delivered.published ? 'published' : 'queued';
  return print(call, { name, path, status }, () => `${word}: ${name} (${path})`);
}

function list(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const all = await listSubscriptions(context);
    if (all.length === 0) note(call, 'no subscriptions; make one with: crosstalk subscription add');
    return print(call, all, () =>
      all.length === 0
        ? ''
        : table([['name', 'source', 'to', 'match', 'host', 'state'], ...all.map(row)]),
    );
  });
}

function row(one: ShownSubscription): string[] {
  const { name, source, to, match, host, once, fired, enabled, problems } = one;
  const [problem] = problems;
  if (problem !== undefined) return [name, `cannot be read: ${problem}`].map(escapeInvisible);
  const state = !enabled ? 'paused' : fired ? 'fired' : once ? 'once' : 'on';
  return [name, source, to, match, host, state].map((cell) => escapeInvisible(cell ?? '-'));
}

function show(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const shown = await showSubscription(context, nameOf(call));
    return print(call, shown, () =>
      [
        `${escapeInvisible(shown.path)}${shown.enabled ? '' : ' (paused)'}`,
        ...shown.problems.map((problem) => `cannot be read: ${escapeInvisible(problem)}`),
        '',
        colourless(shown.text).trimEnd(),
      ].join('\n'),
    );
  });
}

function pause(call: Call): Promise<number> {
  const enabled = flag(call, 'off');
  return inTransport(call, async (context) => {
    const input = { name: nameOf(call), enabled, login: call.io.login };
    return tell(call, await enableSubscription(context, input), enabled ? 'Goes on' : 'Paused');
  });
}

function remove(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const input = { name: nameOf(call), login: call.io.login };
    return tell(call, await removeSubscription(context, input), 'Removed');
  });
}
