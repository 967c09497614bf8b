import { approve, knownHost } from '../../actions/setup/approvals.ts';
import { refreshOrNote, type Context } from '../../actions/context.ts';
import {
  type HeldChange,
  nameText,
  optionText,
  valueText,
} from '../../protocol/approval/approval.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { isYes, text, type Call } from './command.ts';

/**
 * Asks on a terminal before the first start of a host on this machine: shows all that its host file would run, and
 * approves exactly the shown commands. Elsewhere nothing is asked, and the start holds the unapproved ones (trust.md
 * §7).
 *
 * @returns false where the answer is no
 */
export async function agreedToRun(call: Call, context: Context): Promise<boolean> {
  const { io } = call;
  const alias = text(call, 'host');
  const isAsked = async (): Promise<Awaited<ReturnType<typeof knownHost>> | undefined> => {
    const shown = await knownHost(context, alias);
    return shown.host !== undefined && shown.started ? undefined : shown;
  };
  if (io.ask === undefined || (await isAsked()) === undefined) return true;
  await refreshOrNote(context, io.stop);
  const shown = await isAsked();
  const changes = shown?.held.filter(({ actor }) => actor !== undefined) ?? [];
  const open = changes.filter(({ refused }) => refused === undefined);
  if (shown?.host === undefined || open.length === 0) return true;
  io.err(
    [
      `${escapeInvisible(shown.host.path)} would run on this machine, and nobody here has approved it:`,
      ...changes.flatMap(linesOf),
      '',
    ].join('\n'),
  );
  const what = open.length === 1 ? 'this' : `these ${String(open.length)}`;
  const answer = await io.ask(`Run ${what}? [y/N] `, io.stop).catch((error: unknown) => {
    if (io.stop.aborted) return '';
    throw error;
  });
  if (!isYes(answer)) return false;
  await approve(
    context,
    alias,
    open.map(({ digest }) => digest),
  );
  return true;
}

/** Message where the answer is no. */
export const NOT_AGREED =
  'nothing was approved, so nothing runs; approve a part of it with: crosstalk host approve';

/** Returns a command with everything that is approved along with it. */
function linesOf({ digest, name, actor, tier, changes, refused }: HeldChange): string[] {
  const cli = changes.find(({ option }) => option === 'cli');
  const who = tier === undefined ? nameText(name) : `${nameText(actor ?? '')} ${nameText(tier)}`;
  const command = cli === undefined ? '' : ` ${valueText(cli.proposed)}`;
  return [
    `  ${who}:${command}  (${digest})`,
    ...changes
      .filter((change) => change !== cli)
      .map(({ option, proposed }) => `    ${nameText(option)}: ${optionText(option, proposed)}`),
    ...(refused === undefined ? [] : [`    cannot be approved: ${refused}`]),
  ];
}
