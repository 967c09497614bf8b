import {
  addWebToken,
  listWebTokens,
  removeWebToken,
  RIGHTS,
  type ListedToken,
} from '../../actions/page/web-tokens.ts';
import type { Context } from '../../actions/context.ts';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { localTime } from '../../present/times.ts';
import { note, print, text, usingTransport, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';
import { table } from '../view/render.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'web token',
    args: '<add|list|remove> [id]',
    summary: 'let a person into the page, under that name alone and with the rights that you give',
    options: [
      ['--as <name>', 'with add: the name under which they read and write'],
      ['--rights <list>', `with add: some of ${RIGHTS.join(',')} (default: read,write)`],
      ['--days <n>', 'with add: for how many days it counts (default: 30)'],
    ],
    details:
      'read: what the bus holds. watch: what runs of this machine print, and what they changed. write: send and reply. operate: dead letters, kept processes, pauses, schedules, channels. decide: plans and permissions that are addressed to that name. The token is printed once and kept nowhere; whoever has it opens the address of crosstalk web with ?token=<it> once.',
    notInRun: 'who may use the page is decided by a person, not by a run',
    example: 'crosstalk web token add --as anna --rights read,write --days 30',
    run: usingTransport(run),
  },
];

async function run(call: Call, context: Context): Promise<number> {
  const [what = '', id] = call.args;
  switch (what) {
    case 'add':
      assertUnused(call, what, id);
      return add(call, context);
    case 'list':
      assertUnused(call, what, id, OF_ADD);
      return list(call, context);
    case 'remove':
      assertUnused(call, what, undefined, OF_ADD);
      return remove(call, context, id);
    default:
      throw new CrosstalkError(
        'usage',
        `crosstalk web token ${shown(what)} is not known, expected add, list or remove`,
      );
  }
}

/** Options that only `add` has. */
const OF_ADD = ['as', 'rights', 'days'] as const;

/**
 * Refuses what has no effect, as a person who gives it expects one.
 *
 * @throws CrosstalkError `usage`
 */
function assertUnused(
  call: Call,
  what: string,
  id: string | undefined,
  options: readonly string[] = [],
): void {
  const option = options.find((name) => text(call, name) !== undefined);
  const given = option === undefined ? id && shown(id) : `--${option}`;
  if (given !== undefined)
    throw new CrosstalkError('usage', `crosstalk web token ${what} takes no ${given}`);
}

async function add(call: Call, context: Context): Promise<number> {
  const name = text(call, 'as');
  if (name === undefined)
    throw new CrosstalkError(
      'usage',
      'nobody is named whom it lets in; say who with: crosstalk web token add --as <name>',
    );
  const made = await addWebToken(context, {
    name,
    rights: text(call, 'rights') ?? 'read,write',
    days: text(call, 'days') ?? '30',
  });
  note(
    call,
    `it is shown once: let ${made.name} open the address that crosstalk web prints, with this token in the place of yours`,
  );
  return print(call, made, () => made.token);
}

async function list(call: Call, context: Context): Promise<number> {
  const all = await listWebTokens(context);
  if (all.length === 0)
    note(call, 'no tokens of people; the one that crosstalk web prints is yours');
  return print(call, all, () => table(all.map(rowOf)));
}

function rowOf({ id, name, rights, until, over }: ListedToken): string[] {
  return [
    id,
    name,
    rights.join(','),
    `${over ? 'was over' : 'until'} ${localTime(new Date(until))}`,
  ];
}

async function remove(call: Call, context: Context, id: string | undefined): Promise<number> {
  if (id === undefined)
    throw new CrosstalkError(
      'usage',
      'no token is named; give its id, which stands first in: crosstalk web token list',
    );
  const removed = await removeWebToken(context, id);
  return print(call, removed, () => `Removed: ${removed.id} of ${removed.name}`);
}
