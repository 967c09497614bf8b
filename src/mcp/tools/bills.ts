import { COST_BY } from '../../actions/reading/cost-by.ts';
import { cost } from '../../actions/reading/cost.ts';
import { shapes, tool, type Tool, type Z } from '../kit/tool.ts';
import { sinceOf } from './looking.ts';
import { COST } from '../../present/parameters.ts';

/** Returns the tool that reports the costs of runs. */
export function billTools(z: Z): Tool[] {
  const { result } = shapes(z);
  const row = z.looseObject({
    what: z.string(),
    runs: z.number(),
    failed: z.number(),
    input: z.number().describe('tokens, without those of a cache'),
    cached: z.number(),
    output: z.number(),
    usd: z.number().nullable().describe('US dollars; null where no CLI stated any'),
  });
  return [
    tool({
      name: 'cost',
      title: 'What runs have cost',
      description:
        'Tokens and money that the runs of agents have used, the dearest first, put together by actor, tier, host, channel, thread or day. Use it when somebody asks what something has cost.',
      input: z.strictObject({
        by: z.enum(COST_BY).optional().describe('actor if it is not said'),
        since: z.string().optional().describe(COST.since),
      }),
      output: result({
        by: z.string(),
        since: z.string(),
        rows: z.array(row),
        total: row,
        unstated: z.number().describe('runs of which the usage is not known'),
        partly_known: z
          .array(z.string())
          .describe('other hosts, whose failed and silent runs are missing'),
      }),
      hints: { reads: true },
      run: ({ by = 'actor', since }, { open }) =>
        open((context) => cost(context, { by, ...sinceOf(since, context.now()) })),
    }),
  ];
}
