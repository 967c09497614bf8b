import { countOf } from '../../protocol/text/words.ts';
import { CrosstalkError } from '../../errors.ts';
import {
  archive,
  restore,
  type Archived,
  type ArchiveInput,
} from '../../actions/upkeep/archive.ts';
import type { Context } from '../../actions/context.ts';
import { isYes, flag, inTransport, note, print, text, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';
import { table } from '../view/render.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'archive',
    summary: 'move old conversations into a bundle, or bring them back',
    options: [
      ['--before <date>', 'conversations that ended before this day (UTC), as 2026-08-01'],
      ['--bundle <file>', 'the bundle to write: it holds the whole history so far'],
      ['--dry-run', 'only count what would go'],
      ['--with-waiting', 'also what still waits for an answer'],
      ['--yes', 'replace the history of the bus without asking'],
      ['--restore <bundle>', 'put the messages of a bundle back'],
    ],
    example: 'crosstalk archive --before 2026-08-01 --bundle ~/bus-2026-08.bundle',
    run,
  },
];

function run(call: Call): Promise<number> {
  const before = text(call, 'before');
  const bundle = text(call, 'restore');
  if ((before === undefined) === (bundle === undefined))
    throw new CrosstalkError('usage', 'give either --before <date> or --restore <bundle>');
  return inTransport(call, (context) =>
    before === undefined
      ? bringBack(call, context, bundle ?? '')
      : putAway(call, context, {
          before,
          bundle: text(call, 'bundle'),
          withWaiting: flag(call, 'withWaiting'),
          dryRun: flag(call, 'dryRun'),
        }),
  );
}

async function putAway(call: Call, context: Context, input: ArchiveInput): Promise<number> {
  if (!input.dryRun && !flag(call, 'yes') && !(await agreed(call, context, input))) return 1;
  const done = await archive(context, input);
  return print(call, done, () => describe(done, input));
}

/** Asks for agreement: the history belongs to everybody, so it is replaced only after that. */
async function agreed(call: Call, context: Context, input: ArchiveInput): Promise<boolean> {
  const plan = await archive(context, { ...input, dryRun: true });
  if (plan.archived === 0) return true;
  if (call.io.ask === undefined) {
    throw new CrosstalkError(
      'usage',
      `${countOf(plan.archived, 'message')} would leave the bus, for every host; look with --dry-run, and say so with --yes`,
    );
  }
  note(call, describe(plan, { ...input, dryRun: true }));
  const answer = await call.io.ask('Replace the history of the bus, for every host? [y/N] ');
  return isYes(answer);
}

async function bringBack(call: Call, context: Context, bundle: string): Promise<number> {
  const done = await restore(context, bundle);
  return print(
    call,
    done,
    () => `Restored: ${countOf(done.restored, 'message')}${andFiles(done.files)}`,
  );
}

function describe(done: Archived, input: ArchiveInput): string {
  const rows = done.channels.map(({ name, archived, kept, waiting }) => [
    name,
    `${String(archived)} archived`,
    `${String(kept)} kept`,
    waiting === 0 ? '' : `${String(waiting)} wait for an answer`,
  ]);
  const waiting =
    done.waiting === 0 || input.withWaiting
      ? ''
      : `${countOf(done.waiting, 'message')} before ${done.before} ${done.waiting === 1 ? 'waits for an answer; it stays with its conversation (--with-waiting takes it too)' : 'wait for an answer; they stay with their conversations (--with-waiting takes them too)'}`;
  const result =
    done.bundle !== undefined
      ? `Archived: ${countOf(done.archived, 'message')}${andFiles(done.files)} before ${done.before} in ${done.bundle}`
      : done.archived === 0
        ? `Nothing to archive before ${done.before}`
        : `Would archive ${countOf(done.archived, 'message')}${andFiles(done.files)} before ${done.before}`;
  return [table(rows), waiting, result].filter((line) => line !== '').join('\n');
}

function andFiles(count: number): string {
  return count === 0 ? '' : ` and ${String(count)} attached ${count === 1 ? 'file' : 'files'}`;
}
