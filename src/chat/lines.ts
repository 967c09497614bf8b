import { clean } from './clean.ts';
import { read } from './commands.ts';
import type { Entry } from './port.ts';
import type { BusPort } from './bus-port.ts';

export interface LinesInput {
  /** What is typed, a line at a time. */
  lines: AsyncIterable<string>;
  /** Somebody types them: commands are obeyed, and what others write is shown too. */
  isPerson: boolean;
  /** Milliseconds to wait for answers once there are no more lines. */
  timeout: number;
  /** Shows a message that came. */
  show: (entry: Entry) => void;
  /** Says something that is no message. */
  note: (line: string) => void;
  signal: AbortSignal;
}

/**
 * A chat without a screen: each line is sent, and what answers it is shown as it comes. A backslash at
 * the end of a line joins the next one to it.
 *
 * @returns `complete` is false when something that was sent has no answer
 * @throws CrosstalkError for a message that cannot be sent; those before it were
 */
export async function chatByLines(
  port: BusPort,
  input: LinesInput,
): Promise<{ complete: boolean }> {
  const [own, waiting] = [new Set<string>(), new Set<string>()];
  const { current } = port.opening;
  let answered: () => void = () => undefined;
  const follow = async (): Promise<void> => {
    for await (const entries of port.news()) {
      for (const entry of entries) {
        for (const relPath of entry.re) waiting.delete(relPath);
        const isAnswer = entry.re.some((relPath) => own.has(relPath));
        const isOthers = entry.from !== port.opening.me && entry.channel === current;
        if (isAnswer || (input.isPerson && isOthers)) input.show(entry);
      }
      if (waiting.size === 0) answered();
    }
  };
  const following = follow();
  // What ends it is waited for below.
  following.catch(() => undefined);
  const sending = sendAll(port, input, (relPath) => {
    own.add(relPath);
    waiting.add(relPath);
  });
  await Promise.race([sending, following.then(() => sending)]);
  if (waiting.size > 0) {
    input.note(`waiting for ${String(waiting.size)} answer(s)`);
    const done = new Promise<void>((resolve) => (answered = resolve));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, input.timeout)));
    await Promise.race([done, late, following]);
    clearTimeout(timer);
  }
  input.signal.throwIfAborted();
  return { complete: waiting.size === 0 };
}

/**
 * Sends line by line, each when the one before it is on its way, so that they stay in order.
 *
 * @param onSend told where a message will stand, before it is sent
 */
async function sendAll(
  port: BusPort,
  input: LinesInput,
  onSend: (relPath: string) => void,
): Promise<void> {
  const known = (await port.addresses()).map(({ value }) => value);
  let { to } = port.opening;
  for await (const text of joined(input.lines)) {
    if (input.signal.aborted) return;
    const said = input.isPerson
      ? read(text, known, to)
      : ({ kind: text.trim() === '' ? 'nothing' : 'message', to, body: text } as const);
    if (said.kind === 'command') {
      if (said.name === 'quit') return;
      if (said.name === 'to' && said.argument !== '') to = said.argument.trim();
      else input.note(`/${said.name} needs a screen; here are /to <names> and /quit`);
    } else if (said.kind === 'wrong') input.note(said.problem);
    else if (said.kind === 'message') {
      const { entry, sent } = port.send(port.opening.current, said.to, said.body);
      onSend(entry.relPath);
      const { queued } = await sent;
      if (queued !== undefined) input.note(`queued, not on the remote yet: ${queued}`);
    }
  }
}

/** Lines with those that a backslash continues. */
async function* joined(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let begun: string[] = [];
  for await (const line of lines) {
    const continues = line.endsWith('\\');
    begun.push(continues ? line.slice(0, -1) : line);
    if (continues) continue;
    yield begun.join('\n');
    begun = [];
  }
  if (begun.length > 0) yield begun.join('\n');
}

/** A message as lines: who wrote it before the first, the others indented, so that none can pass for one. */
export function entryLines(entry: Entry): string {
  const [first = '', ...others] = clean(entry.body).trimEnd().split('\n');
  return [`${entry.from}: ${first}`, ...others.map((line) => `  ${line}`)].join('\n');
}
