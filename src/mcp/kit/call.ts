import { CrosstalkError, reasonOf } from '../../errors.ts';
import { withContext, type Context } from '../../operations/context.ts';
import { shown } from '../../protocol/text/result.ts';
import type { ServerSurroundings, Tool, ToolCall } from './tool.ts';
import { takenOf } from './given.ts';
import { oneLine, Untrusted } from './untrusted.ts';
import { inToolWords } from './words.ts';

/** The answer to a call of a tool. */
export interface Answer {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** The functions through which a call reaches the outside. */
export interface CallEdges {
  signal: AbortSignal;
  progress: ToolCall['progress'];
}

/** Opens the transport for one piece of work, and closes it: nothing stays open between two calls. */
export function opening(
  surroundings: ServerSurroundings,
  note: (line: string) => void,
): <T>(work: (context: Context) => Promise<T>) => Promise<T> {
  return (work) => withContext(surroundings, { transport: surroundings.transport, note }, work);
}

/**
 * Answers a call of a tool. Every error becomes an answer of one line that says what to do: the
 * caller reads it, and the server continues.
 *
 * @throws the reason of the signal when that is aborted, because nobody waits for an answer then
 */
export async function answer(
  tools: ReadonlyMap<string, Tool>,
  surroundings: ServerSurroundings,
  name: string,
  given: unknown,
  { signal, progress }: CallEdges,
): Promise<Answer> {
  const notes: string[] = [];
  const note = (line: string): void => {
    notes.push(line);
  };
  const members = Object.keys(tools.get(name)?.input.shape ?? {});
  const words = (line: string): string => inToolWords(line, members, [...tools.keys()]);
  try {
    const tool = tools.get(name);
    if (tool === undefined) {
      throw new CrosstalkError(
        'usage',
        `no tool ${shown(name)}; there are ${[...tools.keys()].join(', ')}`,
      );
    }
    const marks = new Untrusted();
    const open = opening(surroundings, note);
    const input = checked(tool, given, note);
    const result = await tool.run(input, { surroundings, signal, marks, note, open, progress });
    const structuredContent = marks.finish(result, notes.map(words));
    return {
      content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
      structuredContent,
    };
  } catch (error) {
    signal.throwIfAborted();
    const text = oneLine([`${name}: ${words(said(error))}`, ...notes.map(words)].join(' · '));
    return { content: [{ type: 'text', text }], isError: true };
  }
}

/** The input of a tool, checked against its schema. */
function checked(tool: Tool, given: unknown, note: (line: string) => void): never {
  const { members: taken, notes } = takenOf(tool.input, given) ?? { members: given, notes: [] };
  notes.forEach(note);
  const parsed = tool.input.safeParse(taken);
  if (parsed.success) return parsed.data as never;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const where = path.map(String).join('.');
    return where === '' ? message : `${where}: ${message}`;
  });
  const members = Object.keys(tool.input.shape);
  const expected = members.length === 0 ? 'no arguments' : members.join(', ');
  throw new CrosstalkError('usage', `${problems.join('; ')}; it takes ${expected}`);
}

function said(error: unknown): string {
  if (error instanceof CrosstalkError) return error.message;
  return `${reasonOf(error)}; nothing sent is lost`;
}
