import { chatByLines, entryLines } from '../../chat/lines.ts';
import type { Entry } from '../../chat/port.ts';
import { BusPort, type BusPortInput } from '../../chat/bus-port.ts';
import { CrosstalkError } from '../../errors.ts';
import { parseRecipients } from '../../protocol/address.ts';
import { flag, given, inTransport, note, text, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { FROM, type CommandSpec } from '../command/spec.ts';
import { isCapable } from '../view/render.ts';
import { timeoutOf } from '../view/talk.ts';

/**
 * Milliseconds that messages being sent are given before the chat ends; they are safe on disk by
 * then.
 */
const PATIENCE_MS = 3000;

export const commands: readonly CommandSpec[] = [
  {
    name: 'chat',
    args: '[channel]',
    summary: 'a conversation on the terminal; piped: each line is sent, answers are printed',
    details: [
      'On a terminal: channels, the conversation as it grows, and a line to type in; /help shows',
      'the keys. Without a screen (piped, TERM=dumb, --json) it ends when the input has ended and',
      'everything is answered; exit code 3 when it waited in vain.',
    ].join('\n'),
    options: [
      FROM,
      [
        '--to <names>',
        'who is spoken to when nobody is named (default: the only actor, concierge)',
      ],
      ['--timeout <time>', 'without a screen: how long to wait for answers (default: 600)'],
    ],
    interrupt: 'clean',
    example: 'crosstalk chat',
    lines: true,
    run,
  },
];

async function run(call: Call): Promise<number> {
  const { io, args } = call;
  const [channel] = args;
  const timeout = timeoutOf(call);
  const { problems } = parseRecipients(text(call, 'to') ?? 'nobody');
  if (problems.length > 0) throw new CrosstalkError('usage', `--to: ${problems.join('; ')}`);
  const hasScreen = io.inIsTty && io.outIsTty && isCapable(io.env) && !flag(call, 'json');
  const stop = new AbortController();
  const input: BusPortInput = {
    ...given(call, 'from', 'to'),
    ...(channel !== undefined && { channel }),
    login: io.login,
    choose: hasScreen,
    signal: AbortSignal.any([io.stop, stop.signal]),
  };
  const loaded = hasScreen ? loadScreen() : undefined;
  return inNotedTransport(call, async (context, redirect) => {
    const port = await BusPort.open(context, input);
    try {
      if (hasScreen) {
        await loaded;
        await onScreen(call, port, redirect);
        return EXIT.ok;
      }
      return await byLines(call, port, timeout, input.signal);
    } finally {
      stop.abort();
      await port.end(PATIENCE_MS);
    }
  });
}

/** Loads the drawing library while the transport is opened. */
function loadScreen(): Promise<void> {
  // The library shows nothing if these variables make it believe that it runs in a build.
  for (const name of ['CI', 'CONTINUOUS_INTEGRATION']) Reflect.deleteProperty(process.env, name);
  const loading = import('../../chat/screen.tsx').then(({ prepareScreen }) => prepareScreen());
  // The error is reported where the promise is awaited.
  loading.catch(() => undefined);
  return loading;
}

/** Opens the transport; its notes go to stderr until they are redirected. */
function inNotedTransport(
  call: Call,
  work: (
    context: Parameters<Parameters<typeof inTransport>[1]>[0],
    redirect: (say: (line: string) => void) => void,
  ) => Promise<number>,
): Promise<number> {
  return inTransport(call, (context) =>
    work(context, (say) => {
      context.note = say;
    }),
  );
}

async function onScreen(
  { io }: Call,
  port: BusPort,
  onNote: (say: (line: string) => void) => void,
): Promise<void> {
  const { openChat } = await import('../../chat/screen.tsx');
  const languages = ['LC_ALL', 'LC_CTYPE', 'LANG'].map((name) => io.env[name] ?? '');
  const language = languages.find((value) => value !== '') ?? '';
  await openChat({
    port,
    opening: port.opening,
    onNote,
    colour: (io.env['NO_COLOR'] ?? '') === '',
    unicode: /utf-?8/i.test(language),
    signal: io.stop,
  });
}

async function byLines(
  call: Call,
  port: BusPort,
  timeout: number,
  signal: AbortSignal,
): Promise<number> {
  const { io } = call;
  const { to } = port.opening;
  if (to === '' && !io.inIsTty)
    throw new CrosstalkError(
      'usage',
      'to whom? several actors are served; say it with --to <names>',
    );
  const show = (entry: Entry): void => {
    io.out(flag(call, 'json') ? json(entry) : `${entryLines(entry)}\n`);
  };
  const { complete } = await chatByLines(port, {
    lines: io.lines(),
    isPerson: io.inIsTty,
    timeout,
    show,
    note: (line) => {
      note(call, line);
    },
    signal,
  });
  return complete ? EXIT.ok : EXIT.timedOut;
}

function json({ at, notYet, ...entry }: Entry): string {
  const timestamp = new Date(at).toISOString();
  return `${JSON.stringify({ ...entry, ...(notYet && { not_yet: notYet }), timestamp })}\n`;
}
