import { attachedLine } from './attaching.ts';
import { clean, oneLine } from './clean.ts';
import { cut, fit, widthOf, wrap } from './columns.ts';
import { conversationLines, fitted, SELECTED, type Line, type Segment } from './conversation.ts';
import { inputRows, type InputRows } from './editing.ts';
import { channelName, type ChatState, type Panel } from './model.ts';

/** Everything on the screen. */
export interface Frame {
  /** The list of channels, if there is room for it. */
  sidebar: { width: number; lines: Line[] } | undefined;
  /** As many lines as {@link heightOf}. */
  lines: Line[];
  /** Counted from the left and from the top, starting at 0. */
  cursor: { x: number; y: number };
}

/** The number of columns from which there is room for the list of channels. */
const SIDEBAR_FROM = 60;
const MAX_SIDEBAR = 24;

/** The layout of the screen, in lines unless columns are named. */
interface Layout {
  sidebar: number;
  width: number;
  title: number;
  body: number;
  bar: number;
  attached: number;
  input: InputRows;
  prompt: string;
}

/** Returns one less than the terminal's number of rows: writing to the last row would scroll the screen. */
export function heightOf({ rows }: ChatState): number {
  return Math.max(1, rows - 1);
}

function layoutOf(state: ChatState): Layout {
  const { columns } = state;
  const longest = Math.max(8, ...state.channels.map((row) => row.depth * 2 + widthOf(row.name)));
  const wanted = Math.min(MAX_SIDEBAR, longest + 6, Math.floor(columns / 3));
  const sidebar = columns >= SIDEBAR_FROM ? wanted : 0;
  const width = Math.max(1, columns - sidebar);
  const height = heightOf(state);
  const prompt = width >= 40 ? `${cut(state.to === '' ? '?' : state.to, 16)}> ` : '> ';
  const room = Math.max(1, width - widthOf(prompt) - 1);
  const all = inputRows(state.input, room);
  const most = Math.max(1, Math.floor(height / 3));
  const first = Math.max(0, Math.min(all.row - most + 1, all.rows.length - most));
  const input = { ...all, rows: all.rows.slice(first, first + most), row: all.row - first };
  const used = input.rows.length;
  const bar = height - used >= 1 ? 1 : 0;
  const title = height - used - bar >= 3 ? 1 : 0;
  const isShown = attachedLine(state) !== undefined && height - used - bar - title >= 2;
  const attached = isShown ? 1 : 0;
  const body = height - used - bar - title - attached;
  return { sidebar, width, title, bar, attached, body, input, prompt };
}

/** Returns the line of the conversation at which the selected thread begins; negative if none is selected. */
export function selectedLine(state: ChatState): number {
  const { width } = layoutOf(state);
  return conversationLines(state, width).findIndex(([first]) => first?.text === SELECTED);
}

/** Returns the number of visible lines of the conversation, or of the panel, and the number of all lines. */
export function windowOf(state: ChatState): { height: number; total: number } {
  const { body, width } = layoutOf(state);
  const { panel } = state;
  const lines = panel === undefined ? conversationLines(state, width) : panelLines(panel, width);
  return { height: body, total: lines.length };
}

/** The wrapped lines of the panel that was shown last: a message may be a megabyte. */
const wrapped = new WeakMap<readonly string[], { width: number; lines: string[] }>();

function panelLines({ lines }: Panel, width: number): string[] {
  const known = wrapped.get(lines);
  if (known?.width === width) return known.lines;
  const found = { width, lines: lines.flatMap((line) => wrap(clean(line), width)) };
  wrapped.set(lines, found);
  return found.lines;
}

/** Computes the screen from the state. */
export function view(state: ChatState): Frame {
  const layout = layoutOf(state);
  const { input, prompt, sidebar, width } = layout;
  const above: Line[] = [
    ...(layout.title === 1 ? [titleLine(state, width)] : []),
    ...bodyLines(state, layout),
    ...(layout.bar === 1 ? [barLine(state, width)] : []),
    ...(layout.attached === 1 ? [withLine(state, width)] : []),
  ];
  const typed = input.rows.map((text, at): Line => [
    { text: at === 0 ? prompt : ' '.repeat(widthOf(prompt)), style: 'bold' },
    { text },
  ]);
  const x = sidebar + widthOf(prompt) + input.column;
  return {
    sidebar: sidebar === 0 ? undefined : { width: sidebar, lines: sidebarLines(state, sidebar) },
    lines: [...above, ...typed],
    cursor: { x: Math.min(x, state.columns - 1), y: above.length + input.row },
  };
}

function withLine(state: ChatState, width: number): Line {
  return fitted([{ text: attachedLine(state) ?? '', style: 'busy' }], width);
}

function titleLine(state: ChatState, width: number): Line {
  const { panel, me, asking } = state;
  const waiting = asking === 0 ? [] : [{ text: `  ${asks(asking)}`, style: 'busy' as const }];
  const text =
    panel === undefined
      ? `#${oneLine(channelName(state, state.current))}`
      : `${oneLine(panel.title)}  (Esc closes)`;
  return fitted([{ text, style: 'bold' }, { text: `  ${me}`, style: 'dim' }, ...waiting], width);
}

function asks(count: number): string {
  return `${count === 1 ? '1 message asks' : `${String(count)} messages ask`} you: /inbox`;
}

/** Returns the lines of the conversation or the panel, filled up to the height. */
function bodyLines(state: ChatState, { body, width }: Layout): Line[] {
  const { panel, scroll } = state;
  if (panel !== undefined) {
    const shown = panelLines(panel, width).slice(panel.top, panel.top + body);
    return filled(
      shown.map((text) => [{ text }]),
      body,
      'below',
    );
  }
  const all = conversationLines(state, width);
  const end = Math.max(Math.min(body, all.length), all.length - scroll);
  return filled(all.slice(Math.max(0, end - body), end), body, 'above');
}

function filled(lines: readonly Line[], height: number, where: 'above' | 'below'): Line[] {
  const empty = Array.from({ length: Math.max(0, height - lines.length) }, (): Line => []);
  return where === 'above' ? [...empty, ...lines] : [...lines, ...empty];
}

/** Returns the line below: completion candidates, an error, news, or the available keys. */
function barLine(state: ChatState, width: number): Line {
  const { completion, notice, below, scroll } = state;
  if (completion !== undefined) {
    const { choices, index } = completion;
    return fitted(
      choices.slice(Math.max(0, index - 2)).map((choice, at): Segment => {
        const isChosen = at + Math.max(0, index - 2) === index;
        const text = choice.value.trim();
        return { text: isChosen ? `[${text}] ` : `${text} `, style: isChosen ? 'bold' : 'dim' };
      }),
      width,
    );
  }
  if (notice !== undefined)
    return fitted([{ text: oneLine(notice.text), style: notice.bad ? 'bad' : 'good' }], width);
  if (below > 0)
    return fitted([{ text: `↓ ${String(below)} new below, Esc shows them`, style: 'good' }], width);
  const hint = scroll > 0 ? '↓ Esc shows the newest' : '/help · Tab completes · Ctrl-C leaves';
  return fitted([{ text: hint, style: 'dim' }], width);
}

function sidebarLines(state: ChatState, width: number): Line[] {
  const { channels, current, unread } = state;
  const height = heightOf(state);
  const at = Math.max(
    0,
    channels.findIndex(({ id }) => id === current),
  );
  const first = Math.max(0, Math.min(at - Math.floor(height / 2), channels.length - height));
  const rows = channels.slice(first, first + height).map(({ id, name, depth }): Line => {
    const count = unread[id] ?? 0;
    const number = count > 0 ? ` ${count > 999 ? '999+' : String(count)}` : '';
    const label = `${'  '.repeat(depth)}${oneLine(name)}`;
    const mark = id === current ? '»' : ' ';
    const text = fit(label, width - 3 - number.length);
    const style = id === current || count > 0 ? 'bold' : 'dim';
    return [
      { text: `${mark}${text}`, style },
      { text: number, style: 'good' },
      { text: ' │', style: 'dim' },
    ];
  });
  const empty = Array.from({ length: Math.max(0, height - rows.length) }, (): Line => [
    { text: `${' '.repeat(width - 1)}│`, style: 'dim' },
  ]);
  return [...rows, ...empty];
}
