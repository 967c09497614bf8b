import type { JSX } from 'preact';
import type { WebCost } from '../../api/api.ts';
import { dollars, grouped } from '../../protocol/text/amounts.ts';

const DAY_MS = 86_400_000;
const HEIGHT = 120;
const TOP = 14;
const AXIS = 20;
/** The width of a day; the picture is scaled to the room there is. */
const DAY = 24;

/** A bar for each day (UTC): money, or tokens where no CLI stated any. */
export function CostPlot({ cost }: { cost: WebCost }): JSX.Element {
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

/** The days from a time to a day, both included. */
function daysFrom(since: string, last: string): string[] {
  const first = Date.parse(since.slice(0, 10));
  const end = Math.max(first, Date.parse(last), Date.now() - (Date.now() % DAY_MS));
  const count = Math.min(400, Math.round((end - first) / DAY_MS) + 1);
  return Array.from({ length: count }, (_, n) =>
    new Date(first + n * DAY_MS).toISOString().slice(0, 10),
  );
}
