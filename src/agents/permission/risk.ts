import { higher, type Place, type Risk } from './mark.ts';
import { pathRisk } from './path-risk.ts';
import { shellRisk } from './shell-risk.ts';

/** What a tool does with the path that one of its arguments names. */
interface FileTool {
  kind: 'reads' | 'writes';
  /** The arguments that may name a path. */
  paths: readonly string[];
  /** Set where it works on the whole folder unless it is told otherwise. */
  hasDefault?: true;
  /** Its other arguments. */
  others: readonly string[];
}

const GREP = [
  ...['pattern', 'output_mode', 'type', 'head_limit', 'offset', 'multiline'],
  ...['-A', '-B', '-C', '-i', '-n', '-o', 'context'],
];

/** The tools of agent CLIs that work on files, by name; claude's, as it asks for them. */
const FILE_TOOLS: Readonly<Record<string, FileTool>> = {
  Read: { kind: 'reads', paths: ['file_path'], others: ['offset', 'limit', 'pages'] },
  Glob: { kind: 'reads', paths: ['path', 'pattern'], hasDefault: true, others: [] },
  Grep: { kind: 'reads', paths: ['path', 'glob'], hasDefault: true, others: GREP },
  LS: { kind: 'reads', paths: ['path'], hasDefault: true, others: ['ignore'] },
  NotebookRead: { kind: 'reads', paths: ['notebook_path'], others: ['cell_id'] },
  Write: { kind: 'writes', paths: ['file_path'], others: ['content'] },
  Edit: {
    kind: 'writes',
    paths: ['file_path'],
    others: ['old_string', 'new_string', 'replace_all'],
  },
  MultiEdit: { kind: 'writes', paths: ['file_path'], others: ['edits'] },
  NotebookEdit: {
    kind: 'writes',
    paths: ['notebook_path'],
    others: ['new_source', 'cell_id', 'cell_type', 'edit_mode'],
  },
};

/** Beside its command, the arguments of the tool that hands a text to a shell. */
const BESIDE_COMMAND = ['description', 'timeout', 'run_in_background', 'dangerouslyDisableSandbox'];

const FOREIGN = 'it is by another CLI than the one whose tools are known here';

/**
 * How dangerous it is to let a tool do what it asks for (work.md, "A person in the loop"). It is told from
 * the input alone: no file is looked at, so what a symlink leads to is not known. It helps a person to
 * read, and decides nothing.
 *
 * A tool or a command that is not known, or not understood, is `unknown`: it is never said to read only. The names
 * of tools are those of one CLI: what another one calls so may be anything, such as a tool of some server.
 *
 * @param agent the CLI that asks
 * @param input the arguments of the tool, as the model gave them
 * @param place where the run works, and its HOME
 */
export function riskOf(
  agent: string | undefined,
  tool: string,
  input: Readonly<Record<string, unknown>>,
  place: Place,
): Risk {
  const risk = riskByName(tool, input, place);
  return agent === 'claude' ? risk : higher({ mark: 'unknown', because: [FOREIGN] }, risk);
}

function riskByName(tool: string, input: Readonly<Record<string, unknown>>, place: Place): Risk {
  if (tool === 'Bash') {
    const text = input['command'];
    if (typeof text !== 'string') return { mark: 'unknown', because: ['it names no command'] };
    const found = asFarAsKnown(shellRisk(text, place), input, ['command', ...BESIDE_COMMAND]);
    return input['dangerouslyDisableSandbox'] === true
      ? higher(found, { mark: 'dangerous', because: ['it leaves the sandbox of its CLI'] })
      : found;
  }
  const files = Object.hasOwn(FILE_TOOLS, tool) ? FILE_TOOLS[tool] : undefined;
  if (files !== undefined) return fileRisk(files, input, place);
  return { mark: 'unknown', because: ['it is not a tool that is known here'] };
}

function fileRisk(
  { kind, paths, hasDefault, others }: FileTool,
  input: Readonly<Record<string, unknown>>,
  place: Place,
): Risk {
  let risk: Risk = { mark: kind, because: [] };
  for (const name of paths) {
    const path = input[name];
    if (path === undefined && hasDefault === true) continue;
    if (typeof path !== 'string') return { mark: 'unknown', because: ['it names no path'] };
    risk = higher(risk, pathRisk(path, kind, place));
  }
  return asFarAsKnown(risk, input, [...paths, ...others]);
}

/** A tool that is told more than is known here may do more than is known. */
function asFarAsKnown(
  risk: Risk,
  input: Readonly<Record<string, unknown>>,
  known: readonly string[],
): Risk {
  const more = Object.keys(input).filter((name) => !known.includes(name));
  const because = `it is told more than is understood here: ${more.join(', ').slice(0, 100)}`;
  return more.length === 0 ? risk : higher(risk, { mark: 'unknown', because: [because] });
}
