import { optionLines } from '../protocol/talk.ts';
import { writerWords } from '../present/marks.ts';
import { clean } from './clean.ts';
import { read } from './commands.ts';
import type { Entry } from './port.ts';
import type { BusPort } from './bus-port.ts';
import { waitingFor } from '../present/holds.ts';
import { queuedLine } from '../present/state.ts';

/** Node's timers fire at once for more milliseconds than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface LinesInput {
  /** The typed lines. */
  lines: AsyncIterable<string>;
  /** Whether a person types them: then commands are obeyed, and messages of others are shown too. */
  isPerson: boolean;
  /** Milliseconds to wait for answers after the last line. */
  timeout: number;
  /** Shows a message that arrived. */
  show: (entry: Entry) => void;
  /** Prints a notice, which is not a message. */
  note: (line: string) => void;
  signal: AbortSignal;
}

/**
 * Runs a chat without a screen: each line is sent, and answers to it are shown as they arrive. A backslash at the end
 * of a line joins the next line to it.
 *
 * @returns `complete` is false when a sent message has no answer
 * @throws CrosstalkError for a message that cannot be sent; the messages before it were sent
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
        if (entry.notYet?.interim !== true) for (const relPath of entry.re) waiting.delete(relPath);
        const isAnswer = entry.re.some((relPath) => own.has(relPath));
        const isOthers = entry.from !== port.opening.me && entry.channel === current;
        if (!isAnswer && !(input.isPerson && isOthers)) continue;
        input.show(entry);
        port.seen([entry]);
      }
      if (waiting.size === 0) answered();
    }
  };
  const following = follow();
  // Its end is awaited below.
  following.catch(() => undefined);
  const sending = sendAll(port, input, (relPath) => {
    own.add(relPath);
    waiting.add(relPath);
  });
  await Promise.race([sending, following.then(() => sending)]);
  if (waiting.size > 0) {
    input.note(waitingFor(`${String(waiting.size)} answer(s)`));
    const done = new Promise<void>((resolve) => (answered = resolve));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>(
      (resolve) => (timer = setTimeout(resolve, Math.min(input.timeout, LONGEST_TIMER_MS))),
    );
    await Promise.race([done, late, following]);
    clearTimeout(timer);
  }
  input.signal.throwIfAborted();
  return { complete: waiting.size === 0 };
}

/**
 * Sends the lines one by one, each after the previous one is on its way, so that they stay in
 * order.
 *
 * @param onSend receives the place of a message before it is sent
 */
async function sendAll(
  port: BusPort,
  input: LinesInput,
  onSend: (relPath: string) => void,
): Promise<void> {
  const known = (await port.addresses()).map(({ value }) => value);
  const skills = input.isPerson ? (await port.skills()).map(({ value }) => value) : [];
  let { to } = port.opening;
  for await (const text of joined(input.lines)) {
    if (input.signal.aborted) return;
    const said = input.isPerson
      ? read(text, known, to, skills)
      : ({ kind: text.trim() === '' ? 'nothing' : 'message', to, body: text } as const);
    if (said.kind === 'command') {
      if (said.name === 'quit') return;
      if (said.name === 'to' && said.argument !== '') to = said.argument.trim();
      else input.note(`/${said.name} needs a screen; here are /to <names> and /quit`);
    } else if (said.kind === 'wrong') input.note(said.problem);
    else if (said.kind === 'message') {
      const { entry, sent } = port.send(port.opening.current, said);
      onSend(entry.relPath);
      const { queued } = await sent;
      if (queued !== undefined) input.note(queuedLine(queued));
    }
  }
}

/** Joins a line that ends with a backslash to the next one. */
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

/**
 * Returns a message as lines: its sender is on the first line and all others are indented, so that no line can pass
 * for another message.
 */
export function entryLines(entry: Entry): string {
  const [first = '', ...others] = clean(entry.body).trimEnd().split('\n');
  const more = [...others, ...optionLines(entry.options ?? [])];
  return [
    `${writerWords(entry.from, entry.verified)}: ${first}`,
    ...more.map((line) => `  ${line}`),
  ].join('\n');
}
