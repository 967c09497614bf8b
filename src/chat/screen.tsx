import { Box, render, Text, useCursor, type Instance } from 'ink';
import type { ReactElement } from 'react';
import type { Line, Segment } from './conversation.ts';
import { Driver } from './driver.ts';
import type { ChatPort, Opening } from './port.ts';
import { ChatTerminal } from './terminal.ts';
import { heightOf, view, type Frame } from './view.ts';

/** The options with which a screen is opened. */
export interface ScreenOptions {
  port: ChatPort;
  opening: Opening;
  /** Receives a function that shows a line to the operator. */
  onNote: (say: (line: string) => void) => void;
  colour: boolean;
  /** Whether the terminal can show characters beyond ASCII. */
  unicode: boolean;
  signal: AbortSignal;
}

const COLOURS = {
  good: 'green',
  busy: 'yellow',
  wait: 'yellow',
  held: 'yellow',
  bad: 'red',
} as const;
const NAMES = ['cyan', 'green', 'yellow', 'magenta', 'blue', 'red'] as const;
/** Replacements for terminals that cannot show our symbols. */
const ASCII: Readonly<Record<string, string>> = {
  '…': '.',
  '▸': '+',
  '▾': '-',
  '»': '>',
  '↓': 'v',
  '│': '|',
  '·': '-',
  '→': '>',
};

/** Loads the drawing library in advance, so that it is ready when there is something to show. */
export async function prepareScreen(): Promise<void> {
  // Importing it is enough.
}

/** Runs a chat on this process's terminal, until the user leaves it or `signal` is aborted. */
export async function openChat(options: ScreenOptions): Promise<void> {
  const { port, opening, signal, onNote } = options;
  let instance: Instance | undefined;
  let isDue = false;
  let isClosed = false;
  let crashed: (error: unknown) => void = () => undefined;
  const crash = new Promise<never>((_, reject) => (crashed = reject));
  const draw = (): void => {
    if (isClosed) return;
    const screen = (
      <Screen frame={view(driver.state)} height={heightOf(driver.state)} {...options} />
    );
    if (instance !== undefined) instance.rerender(screen);
    else {
      instance = render(screen, {
        stdout: terminal.output(),
        exitOnCtrlC: false,
        patchConsole: false,
      });
      instance.waitUntilExit().catch(crashed);
    }
  };
  const anew = (): void => {
    instance?.unmount();
    instance = undefined;
    terminal.clear();
    draw();
  };
  const terminal = new ChatTerminal({
    press: (key) => {
      driver.dispatch({ type: 'key', key });
    },
    resize: () => {
      driver.dispatch({ type: 'size', ...terminal.size });
      anew();
    },
  });
  const driver = new Driver({
    port,
    opening,
    size: terminal.size,
    signal,
    redraw: () => setImmediate(anew),
    write: (sequence) => {
      terminal.write(sequence);
    },
    // Keys that arrive together lead to one redraw.
    show: () => {
      if (isDue) return;
      isDue = true;
      setImmediate(() => {
        isDue = false;
        draw();
      });
    },
  });
  onNote((text) => {
    driver.dispatch({ type: 'aside', text });
  });
  try {
    await Promise.race([driver.ended, crash]);
  } finally {
    isClosed = true;
    instance?.unmount();
    terminal.close();
  }
}

interface Look {
  colour: boolean;
  unicode: boolean;
}

function Screen({ frame, height, ...look }: Look & { frame: Frame; height: number }): ReactElement {
  useCursor().setCursorPosition(frame.cursor);
  const { sidebar } = frame;
  return (
    <Box height={height} overflow="hidden">
      {sidebar !== undefined && (
        <Box width={sidebar.width} flexShrink={0}>
          <Lines lines={sidebar.lines} {...look} />
        </Box>
      )}
      <Lines lines={frame.lines} {...look} />
    </Box>
  );
}

function Lines({ lines, ...look }: Look & { lines: readonly Line[] }): ReactElement {
  return (
    <Box flexDirection="column" flexGrow={1}>
      {lines.map((line, at) => (
        <Box key={at} height={1}>
          <Text wrap="truncate">
            {line.length === 0
              ? ' '
              : line.map((part, n) => <Part key={n} part={part} {...look} />)}
          </Text>
        </Box>
      ))}
    </Box>
  );
}

/** Without colour, words and symbols alone carry the meaning. */
function Part({ part, colour, unicode }: Look & { part: Segment }): ReactElement {
  const { text: shown, style, of = '' } = part;
  const text = unicode ? shown : shown.replace(/[…▸▾»↓│·→]/g, (sign) => ASCII[sign] ?? '?');
  if (!colour || style === undefined) return <Text>{text}</Text>;
  if (style === 'name') return <Text color={colourOf(of)}>{text}</Text>;
  if (style === 'bold') return <Text bold>{text}</Text>;
  if (style === 'dim') return <Text dimColor>{text}</Text>;
  return <Text color={COLOURS[style]}>{text}</Text>;
}

/** Returns the colour of a name, which is the same everywhere. */
function colourOf(name: string): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 0xffffff;
  return NAMES[hash % NAMES.length] ?? 'cyan';
}
