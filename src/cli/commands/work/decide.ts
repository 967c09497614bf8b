import type { Context } from '../../../actions/context.ts';
import {
  decide,
  proposalAt,
  type DecideInput,
  type ShownProposal,
} from '../../../actions/deciding/decide.ts';
import { sentJson } from '../../../actions/shapes/as-json.ts';
import { whyIgnored } from '../../../protocol/decision/judge.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { flag, given, inTransport, isYes, note, print, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import { ALLOW_SECRET, FROM, type CommandSpec } from '../../command/spec.ts';
import { whereWords } from '../../view/sent.ts';

const ONLY_PEOPLE = 'only a person decides, in a terminal of their own';
const OPTIONS: CommandSpec['options'] = [
  FROM,
  ['--yes', 'do not ask on a terminal after showing it'],
  ALLOW_SECRET,
  ['--no-wait', 'return as soon as the decision is safely queued'],
];

export const commands: readonly CommandSpec[] = [
  {
    name: 'approve',
    args: '<message> [why]',
    summary: 'let an actor do what a message proposes',
    options: OPTIONS,
    notInRun: ONLY_PEOPLE,
    details:
      'Shows what is approved, and decides on exactly that text. It counts on the host that asked if it is made there, or signed with a key that is pinned there for your name. What you say with it goes to the actor.',
    example: 'crosstalk approve 1f2e3d4c "but leave the tests alone"',
    run,
  },
  {
    name: 'deny',
    args: '<message> [why]',
    summary: 'keep an actor from what a message proposes',
    options: OPTIONS,
    notInRun: ONLY_PEOPLE,
    details:
      'Counts as an approval does. Of a plan, the reason is the answer to whoever asked; a new plan is made when somebody asks anew in the thread.',
    example: 'crosstalk deny 1f2e3d4c "too risky before the release"',
    run,
  },
];

function run(call: Call): Promise<number> {
  const [message = '', note = ''] = call.args;
  const decision = call.name === 'approve' ? 'approve' : 'deny';
  return inTransport(call, (context) => decideHere(call, context, { message, decision, note }));
}

/** Shows a proposal, asks on a terminal, and decides on exactly the shown text. Returns the exit code. */
export async function decideHere(
  call: Call,
  context: Context,
  { note: said, ...wanted }: Pick<DecideInput, 'message' | 'decision'> & { note: string },
): Promise<number> {
  const { io } = call;
  const { decision } = wanted;
  const input = { ...wanted, ...given(call, 'from'), login: io.login };
  const proposal = await proposalAt(context, input);
  if (!flag(call, 'json') || io.ask !== undefined) io.err(`${shownText(proposal)}\n`);
  const question = decision === 'approve' ? 'Approve this? [y/N] ' : 'Deny this? [y/N] ';
  if (io.ask !== undefined && !flag(call, 'yes') && !isYes(await io.ask(question))) {
    note(call, 'nothing was decided');
    return EXIT.failed;
  }
  const { proposal: decided, ...sent } = await decide(
    context,
    {
      ...input,
      note: said === '' ? said : `${said}\n`,
      digest: proposal.digest,
      wait: call.options['wait'] !== false,
      allowSecret: flag(call, 'allowSecret'),
    },
    {
      ...whereWords(call),
    },
  );
  io.lastWord('');
  if (!sent.delivered.published)
    note(call, `it counts once it is on the remote: ${sent.delivered.reason}`);
  const word = decision === 'approve' ? 'Approved' : 'Denied';
  return print(
    call,
    { ...sentJson(sent), decision, proposal: decided },
    () => `${word}: ${decided.relPath}`,
  );
}

/** Returns the text that is decided on, with everything that could hide a part of it escaped. */
function shownText(proposal: ShownProposal): string {
  const { relPath, from, host, body, permission, ignored } = proposal;
  const who = escapeInvisible(host === undefined ? from : `${from}@${host}`);
  const lines = body.trimEnd().split('\n');
  return [
    `${relPath}, ${who} proposes:`,
    ...(permission === undefined
      ? []
      : [
          `  tool   ${escapeInvisible(permission.tool)}`,
          `  input  ${escapeInvisible(permission.input)}`,
          ...(permission.marks === undefined ? [] : [`  marks  ${permission.marks.join(', ')}`]),
        ]),
    ...lines.map((line) => `  | ${escapeInvisible(line.replaceAll('\t', '    '))}`),
    ...ignored.map(
      (one) =>
        `  ${one.relPath}, which ${one.decision === 'approve' ? 'approves' : 'denies'} it, is ignored: ${whyIgnored(one.reason, { from: one.from, approver: proposal.approver })}`,
    ),
  ].join('\n');
}
