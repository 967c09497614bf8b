/** The points of a line: the cost for each size of the transport. */
export interface Series {
  name: string;
  points: { messages: number; ms: number }[];
}

const WIDTH = 640;
const HEIGHT = 300;
const MARGIN = { left: 56, right: 176, top: 20, bottom: 40 };
/** Colours that colour-blind people can distinguish too (Okabe and Ito). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7'];
const LABEL_APART = 14;
const DASHES = ['', '6 3', '2 3', '8 3 2 3'];

/** The labels of the axes, and whether the vertical one is logarithmic too. */
interface Axes {
  x: string;
  y: string;
  log?: boolean;
}

/**
 * Plots cost against size, with a logarithmic axis for the size; an SVG that is readable on light
 * and dark backgrounds.
 */
export function plot(
  title: string,
  series: readonly Series[],
  axes: Axes = { x: 'messages in the transport', y: 'milliseconds' },
): string {
  const all = series.flatMap(({ points }) => points);
  const sizes = [...new Set(all.map(({ messages }) => messages))].sort((a, b) => a - b);
  const most = Math.max(...all.map(({ ms }) => ms)) * 1.15;
  const [first = 1, last = 10] = [sizes[0], sizes.at(-1)].map((size) => Math.log10(size ?? 1));
  const inner = {
    width: WIDTH - MARGIN.left - MARGIN.right,
    height: HEIGHT - MARGIN.top - MARGIN.bottom,
  };
  const x = (messages: number): number =>
    MARGIN.left + (inner.width * (Math.log10(messages) - first)) / Math.max(last - first, 1e-9);
  const powers = all.map(({ ms }) => Math.log10(ms));
  const [lowest, highest] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers))];
  const y = (ms: number): number => {
    const share = axes.log ? (Math.log10(ms) - lowest) / (highest - lowest) : ms / most;
    return MARGIN.top + inner.height * (1 - share);
  };
  const steps = axes.log
    ? Array.from({ length: highest - lowest + 1 }, (_, n) => 10 ** (lowest + n))
    : Array.from({ length: Math.floor(most / roundStep(most)) + 1 }, (_, n) => n * roundStep(most));
  const shown = (step: number): string =>
    axes.log ? step.toLocaleString('en', { maximumFractionDigits: 3 }) : step.toFixed(0);
  const labels = apart(series.map(({ points }) => y(points.at(-1)?.ms ?? 1) + 4));
  const parts = [
    ...steps.map(
      (ms) =>
        `<line x1="${at(MARGIN.left)}" x2="${at(WIDTH - MARGIN.right)}" y1="${at(y(ms))}" y2="${at(y(ms))}" stroke="#8888" stroke-width="0.5"/><text x="${at(MARGIN.left - 6)}" y="${at(y(ms) + 4)}" text-anchor="end">${shown(ms)}</text>`,
    ),
    ...sizes.map(
      (size) =>
        `<text x="${at(x(size))}" y="${at(HEIGHT - MARGIN.bottom + 18)}" text-anchor="middle">${size.toLocaleString('en')}</text>`,
    ),
    `<text x="${at(MARGIN.left + inner.width / 2)}" y="${at(HEIGHT - 4)}" text-anchor="middle">${axes.x}</text>`,
    `<text x="12" y="${at(MARGIN.top + inner.height / 2)}" text-anchor="middle" transform="rotate(-90 12 ${at(MARGIN.top + inner.height / 2)})">${axes.y}</text>`,
    ...series.map(({ name, points }, index) => line(name, points, index)),
  ];
  function line(name: string, points: Series['points'], index: number): string {
    const colour = COLOURS[index % COLOURS.length] ?? '';
    const dash = DASHES[index % DASHES.length] ?? '';
    const path = points.map(({ messages, ms }) => `${at(x(messages))},${at(y(ms))}`).join(' ');
    const end = points.at(-1);
    const dots = points
      .map(
        ({ messages, ms }) =>
          `<circle cx="${at(x(messages))}" cy="${at(y(ms))}" r="3" fill="${colour}" stroke="none"/>`,
      )
      .join('');
    const label =
      end === undefined
        ? ''
        : `<text x="${at(WIDTH - MARGIN.right + 10)}" y="${at(labels[index] ?? 0)}" style="fill:${colour}">${name}</text>`;
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}"/>${dots}${label}`;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}" role="img" aria-label="${title}"><title>${title}</title><style>text{font:12px sans-serif;fill:#777}</style>${parts.join('\n')}</svg>\n`;
}

/** A round number of which `most` is about five times as large. */
function roundStep(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most / 5));
  return ([1, 2, 5, 10].find((step) => step * power * 5.5 >= most) ?? 10) * power;
}

/** Moves labels apart that would overlap, upwards from the lower end of the plot. */
function apart(heights: readonly number[]): number[] {
  const moved = [...heights];
  const order = heights
    .map((_, index) => index)
    .sort((a, b) => (heights[b] ?? 0) - (heights[a] ?? 0));
  let most = HEIGHT - MARGIN.bottom;
  for (const index of order) {
    moved[index] = Math.min(moved[index] ?? 0, most);
    most = (moved[index] ?? 0) - LABEL_APART;
  }
  return moved;
}

function at(value: number): string {
  return value.toFixed(1);
}
