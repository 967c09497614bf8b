import { CrosstalkError } from '../../../errors.ts';
import { COST_BY, type CostBy } from '../../../actions/reading/cost-by.ts';
import { cost, type CostRow } from '../../../actions/reading/cost.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { someOf, dollars, grouped } from '../../../protocol/text/words.ts';
import { shown } from '../../../protocol/text/result.ts';
import { inTransport, note, print, text, type Call } from '../../command/command.ts';
import { sinceOf } from '../../command/values.ts';
import type { CommandSpec } from '../../command/spec.ts';
import { table } from '../../view/render.ts';
import { COST } from '../../../present/parameters.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'cost',
    summary: 'what runs have used: tokens, and money where the agent CLI states it',
    options: [
      ['--by <what>', `${COST_BY.join(', ')} (default: actor)`],
      ['--since <when>', COST.since],
    ],
    details:
      'Every run of this machine is counted, failed and silent ones too. Of other machines those are counted that gave an answer which tells what they used.',
    example: 'crosstalk cost --since today',
    paged: true,
    run,
  },
];

function run(call: Call): Promise<number> {
  const by = byOf(call);
  return inTransport(call, async (context) => {
    const found = await cost(context, { by, ...sinceOf(call) });
    const { rows, total, unstated, partly_known: others } = found;
    if (total.runs === 0) note(call, `no runs since ${found.since.slice(0, 10)}`);
    if (unstated > 0)
      note(
        call,
        `of ${runs(unstated)} the usage is not known: the command is no plain call of claude, codex, gemini, opencode or pi, or the run was ended before its CLI stated it`,
      );
    if (others.length > 0)
      note(
        call,
        `of other hosts (${someOf(others)}) only the runs are counted whose answers tell their usage; failed and silent ones are missing`,
      );
    const head = [by, 'runs', 'failed', 'input', 'cached', 'output', 'cost'];
    const body = rows.length > 1 ? [...rows, total] : rows;
    return print(call, found, () =>
      rows.length === 0 ? '' : table([head, ...body.map((row) => cells(row))]),
    );
  });
}

function byOf(call: Call): CostBy {
  const given = text(call, 'by') ?? 'actor';
  const by = COST_BY.find((one) => one === given);
  if (by !== undefined) return by;
  throw new CrosstalkError(
    'usage',
    `--by is ${shown(given)}, expected one of: ${COST_BY.join(', ')}`,
  );
}

function cells({ what, runs: made, failed, input, cached, output, usd }: CostRow): string[] {
  const numbers = [made, failed, input, cached, output].map(grouped);
  return [escapeInvisible(what), ...numbers, dollars(usd)];
}

function runs(count: number): string {
  return count === 1 ? '1 run' : `${String(count)} runs`;
}
