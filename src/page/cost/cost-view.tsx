import type { JSX } from 'preact';
import type { WebCost, WebCostRow } from '../../api/api.ts';
import { dollars, grouped } from '../../protocol/text/amounts.ts';
import { someOf } from '../../protocol/text/unserved.ts';
import { get } from '../live/api.ts';
import { useLoaded, useSeldom, type Loaded } from '../live/use-live.ts';
import { Problem, View } from '../parts/view.tsx';
import { Link } from '../route/link.tsx';
import { CostPlot } from './cost-plot.tsx';

/** The threads that are named. */
const MOST_THREADS = 20;
/** All runs of 30 days are added up, so this is not done for each of them. */
const LOAD_MS = 60_000;

/** What the runs of the last 30 days have used: by day, by actor and by thread. */
export function CostView(): JSX.Element {
  const days = useCost('day');
  const actors = useCost('actor');
  const threads = useCost('thread');
  useSeldom('runs', LOAD_MS, () => {
    for (const one of [days, actors, threads]) one.again();
  });
  const problem = days.problem ?? actors.problem ?? threads.problem;
  const { value: cost } = days;
  return (
    <View title="Cost" class="cost">
      <Problem words={problem} />
      {cost !== undefined && (
        <>
          <p class="dim">{summary(cost)}</p>
          {cost.total.runs > 0 && <CostPlot cost={cost} />}
        </>
      )}
      {actors.value !== undefined && actors.value.rows.length > 0 && (
        <Costs title="By actor" rows={actors.value.rows} total={actors.value.total} />
      )}
      {threads.value !== undefined && threads.value.rows.length > 0 && (
        <Costs title="By thread, the dearest" rows={threads.value.rows.slice(0, MOST_THREADS)} />
      )}
    </View>
  );
}

function useCost(by: WebCost['by']): Loaded<WebCost> & { again: () => void } {
  return useLoaded<WebCost>(`cost ${by}`, (signal) => get<WebCost>('cost', { by }, signal));
}

function summary({ since, total, unstated, partly_known: others }: WebCost): string {
  const first = `since ${since.slice(0, 10)}`;
  if (total.runs === 0) return `No runs ${first}.`;
  const money = total.usd === null ? 'no CLI stated money' : dollars(total.usd);
  const all = `${grouped(total.runs)} runs ${first}: ${money}, ${grouped(total.input + total.output)} tokens and ${grouped(total.cached)} of a cache.`;
  const unknown = unstated === 0 ? '' : ` Of ${grouped(unstated)} of them the usage is not known.`;
  const partly =
    others.length === 0
      ? ''
      : ` Of ${someOf(others)} only the runs are counted whose answers tell their usage.`;
  return `${all}${unknown}${partly}`;
}

const HEAD = ['runs', 'failed', 'input', 'cached', 'output', 'cost'];

/** Rows in figures. */
function Costs({
  title,
  rows,
  total,
}: {
  title: string;
  rows: readonly WebCostRow[];
  total?: WebCostRow;
}): JSX.Element {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <div class="wide" tabIndex={0} role="group" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{title.startsWith('By actor') ? 'actor' : 'thread'}</th>
              {HEAD.map((cell) => (
                <th key={cell} scope="col">
                  {cell}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.what} row={row} />
            ))}
            {total !== undefined && rows.length > 1 && <Row row={total} />}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ row }: { row: WebCostRow }): JSX.Element {
  const { what, channel, runs, failed, input, cached, output, usd } = row;
  return (
    <tr>
      <th scope="row">
        {channel === undefined || channel === '' ? (
          <bdi>{what}</bdi>
        ) : (
          <Link to={{ view: 'thread', channel, relPath: what }}>{what}</Link>
        )}
      </th>
      {[runs, failed, input, cached, output].map((count, at) => (
        <td key={HEAD[at]}>{grouped(count)}</td>
      ))}
      <td>{dollars(usd)}</td>
    </tr>
  );
}
