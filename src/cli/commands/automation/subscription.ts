import {
  addSubscription,
  enableSubscription,
  removeSubscription,
  type EditedSubscription,
} from '../../../operations/subscriptions/edit.ts';
import {
  listSubscriptions,
  showSubscription,
  type ShownSubscription,
} from '../../../operations/subscriptions/list.ts';
import { readBody } from '../../command/body.ts';
import { flag, inTransport, note, print, text, type Call } from '../../command/command.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { colourless, table } from '../../view/render.ts';

export function run(call: Call): Promise<number> {
  switch (call.name) {
    case 'subscription add':
      return add(call);
    case 'subscription show':
      return show(call);
    case 'subscription pause':
      return pause(call);
    case 'subscription remove':
      return remove(call);
    default:
      return list(call);
  }
}

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
