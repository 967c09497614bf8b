import { Box, render, Text, useCursor, type Instance } from 'ink';
import type { ReactElement } from 'react';
import type { Line, Segment } from './conversation.ts';
import { Driver } from './driver.ts';
import type { ChatPort, Opening } from './port.ts';
import { ChatTerminal } from './terminal.ts';
import { heightOf, view, type Frame } from './view.ts';

/** What a screen is opened with. */
export interface ScreenOptions {
  port: ChatPort;
  opening: Opening;
  /** Told of a function that shows a line to the operator. */
  onNote: (say: (line: string) => void) => void;
  colour: boolean;
  /** Whether the terminal shows more than ASCII. */
  unicode: boolean;
  signal: AbortSignal;
}

const COLOURS = { good: 'green', busy: 'yellow', bad: 'red' } as const;
const NAMES = ['cyan', 'green', 'yellow', 'magenta', 'blue', 'red'] as const;
/** For terminals without the signs of ours. */
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

/** Loads what draws, so that it is at hand once there is something to show. */
export async function prepareScreen(): Promise<void> {
  // Being here is all.
}

/** A chat on this process's terminal, until it is left or `signal` is aborted. */
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
    // Keys that come together are drawn together.
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
    driver.dispatch({ type: 'notice', text, bad: true });
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

/** Without colour everything is said by words and signs alone. */
function Part({ part, colour, unicode }: Look & { part: Segment }): ReactElement {
  const { text: shown, style, of = '' } = part;
  const text = unicode ? shown : shown.replace(/[…▸▾»↓│·→]/g, (sign) => ASCII[sign] ?? '?');
  if (!colour || style === undefined) return <Text>{text}</Text>;
  if (style === 'name') return <Text color={colourOf(of)}>{text}</Text>;
  if (style === 'bold') return <Text bold>{text}</Text>;
  if (style === 'dim' || style === 'quiet') return <Text dimColor>{text}</Text>;
  return <Text color={COLOURS[style]}>{text}</Text>;
}

/** A name has its own colour, the same everywhere. */
function colourOf(name: string): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 0xffffff;
  return NAMES[hash % NAMES.length] ?? 'cyan';
}
