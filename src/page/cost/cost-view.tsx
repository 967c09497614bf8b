import type { JSX } from 'preact';
import type { WebCost, WebCostRow } from '../../api/api.ts';
import { dollars, grouped, someOf } from '../../protocol/text/words.ts';
import { get } from '../live/api.ts';
import { useLoaded, useSeldom, type Loaded } from '../live/use-live.ts';
import { Problem, View } from '../parts/view.tsx';
import { Link } from '../route/link.tsx';

/** The threads that are named. */
const MOST_THREADS = 20;
/** All runs of 30 days are added up, so this is not done for each of them. */
const LOAD_MS = 60_000;

/** Usage of the runs of the last 30 days: by day, by actor and by thread. */
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

const DAY_MS = 86_400_000;
const HEIGHT = 120;
const TOP = 14;
const AXIS = 20;
/** The width of a day; the picture is scaled to the room there is. */
const DAY = 24;

/** A bar for each day (UTC): money, or tokens where no CLI stated any. */
function CostPlot({ cost }: { cost: WebCost }): JSX.Element {
  const isMoney = cost.total.usd !== null;
  const byDay = new Map(cost.rows.map((row) => [row.what, row]));
  const days = daysFrom(cost.since, cost.rows.at(-1)?.what ?? cost.since.slice(0, 10));
  const amounts = days.map((day) => {
    const row = byDay.get(day);
    if (row === undefined) return { day, amount: 0, words: 'nothing' };
    const amount = isMoney ? (row.usd ?? 0) : row.input + row.output;
    return { day, amount, words: isMoney ? dollars(amount) : `${grouped(amount)} tokens` };
  });
  const most = Math.max(...amounts.map(({ amount }) => amount), isMoney ? 0.0001 : 1);
  const width = days.length * DAY;
  return (
    <figure class="plot">
      <figcaption>{isMoney ? 'US dollars a day' : 'Tokens a day'}</figcaption>
      <svg
        viewBox={`0 0 ${String(width)} ${String(HEIGHT + AXIS)}`}
        role="img"
        aria-label={`${isMoney ? 'US dollars' : 'tokens'} a day, at most ${isMoney ? dollars(most) : grouped(most)}`}
      >
        <line class="tick" x2={width} y1={TOP} y2={TOP} />
        <line class="base" x2={width} y1={HEIGHT} y2={HEIGHT} />
        <text class="tick-label" x={2} y={TOP - 3}>
          {isMoney ? dollars(most) : grouped(most)}
        </text>
        {amounts.map(({ day, amount, words }, at) => (
          <g key={day}>
            <title>{`${day}: ${words}`}</title>
            <rect
              class="spent"
              x={at * DAY + 3}
              y={HEIGHT - (amount / most) * (HEIGHT - TOP)}
              width={DAY - 6}
              height={(amount / most) * (HEIGHT - TOP)}
            />
            {at % 7 === 0 && (
              <text class="tick-label" x={at * DAY + 2} y={HEIGHT + 15}>
                {day.slice(5)}
              </text>
            )}
          </g>
        ))}
      </svg>
      <details>
        <summary>In numbers</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">day (UTC)</th>
              <th scope="col">{isMoney ? 'cost' : 'tokens'}</th>
            </tr>
          </thead>
          <tbody>
            {amounts
              .filter(({ amount }) => amount > 0)
              .map(({ day, words }) => (
                <tr key={day}>
                  <th scope="row">{day}</th>
                  <td>{words}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** Returns the days from a time to a day, both included. */
function daysFrom(since: string, last: string): string[] {
  const first = Date.parse(since.slice(0, 10));
  const end = Math.max(first, Date.parse(last), Date.now() - (Date.now() % DAY_MS));
  const count = Math.min(400, Math.round((end - first) / DAY_MS) + 1);
  return Array.from({ length: count }, (_, n) =>
    new Date(first + n * DAY_MS).toISOString().slice(0, 10),
  );
}
