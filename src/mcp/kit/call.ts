import { CrosstalkError, reasonOf } from '../../errors.ts';
import { withContext, type Context } from '../../actions/context.ts';
import { shown } from '../../protocol/text/result.ts';
import type { ServerSurroundings, Tool, ToolCall } from './tool.ts';
import { oneLine, Untrusted } from './untrusted.ts';
import type { z as Zod } from './sdk.ts';

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
 * Answers a call of a tool. Every error becomes an answer of one line that names the remedy: the caller reads it, and
 * the server continues.
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

/** Checks the input of a tool against its schema, and returns it. */
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

/** The arguments of a call as a tool takes them. */
interface Taken {
  members: Record<string, unknown>;
  /** Notes on ignored members. */
  notes: string[];
}

/**
 * Takes arguments as clients and models send them: null and empty text for omitted members, lists, numbers and
 * booleans as text, numbers in the place of text, and members of their own. The meaning of a member is never guessed:
 * it is taken in another form only if its schema refuses the given one.
 */
export function takenOf(input: Zod.ZodObject, given: unknown): Taken | undefined {
  const all = given ?? {};
  if (typeof all !== 'object' || Array.isArray(all)) return undefined;
  const names = Object.keys(input.shape);
  const unknown = Object.keys(all).filter((name) => !names.includes(name));
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(all)) {
    const schema = input.shape[name] as Zod.ZodType | undefined;
    if (schema === undefined || (isEmpty(value) && schema.safeParse(undefined).success)) continue;
    members[name] = fitting(schema, value);
  }
  const notes = unknown.map((name) => `${shown(name)} was passed over: there is no such argument`);
  return { members, notes };
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '';
}

/** Returns the value in the first form that a schema takes, else as it is. */
function fitting(schema: Zod.ZodType, value: unknown): unknown {
  const forms = [value, ...otherForms(value)];
  return forms.find((form) => schema.safeParse(form).success) ?? value;
}

/** Returns the other forms of a text, a value in JSON or the only one of a list; and the text for a number. */
function otherForms(value: unknown): unknown[] {
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (typeof value !== 'string') return [];
  // Python writes them so.
  const text = /^(?:True|False)$/.test(value) ? value.toLowerCase() : value;
  try {
    return [JSON.parse(text), [value]];
  } catch {
    return [[value]];
  }
}

/**
 * Rewords an error in the words of a tool's caller, who knows arguments and tools but neither options of a command
 * line nor a shell: `--channel <name>` becomes `channel`, and `crosstalk status` the tool of that name. Options of no
 * tool stay, because they are for the operator.
 *
 * @param members the arguments of the tool
 * @param tools the names of all tools
 */
function inToolWords(
  message: string,
  members: readonly string[],
  tools: readonly string[],
): string {
  return message
    .replace(
      'give its text as an argument, on stdin, or with --file <path>',
      'give its text as body',
    )
    .replace(
      /(?<![\w-])--([a-z]+)\b(?: <[^<>]{1,40}>)?/g,
      (all, option: string) => argumentOf(option, members) ?? all,
    )
    .replace(
      /(?<=with: )crosstalk ([a-z]+)(?: ([a-z]+))?(?=$|;|,)/g,
      (all, group: string, word?: string) => {
        if (word !== undefined && tools.includes(`${group}_${word}`))
          return `the tool ${group}_${word}`;
        return tools.includes(group) ? `the tool ${group}` : all;
      },
    );
}

/** Returns the argument that stands for an option; one that may be repeated is a list. */
function argumentOf(option: string, members: readonly string[]): string | undefined {
  const name = [option, `${option}s`].find((one) => members.includes(one));
  return name && `the argument ${name}`;
}
