import { objectIn, textIn } from '../output/reader.ts';

/** Tools of the Agent Client Protocol by their kind, under the names that a person knows. */
const TOOLS: Readonly<Record<string, string>> = { execute: 'Bash', edit: 'Edit', read: 'Read' };

interface Asked {
  tool: string;
  input: Record<string, unknown>;
}

/**
 * Extracts the tool and its input, for a person to decide on, from a tool call of the Agent Client Protocol.
 * Agents that omit the input describe it in the title, the locations and the content of the call: any of
 * these that is not in the input is added, so that nothing is allowed unseen.
 */
export function toolOfCall(call: unknown): Asked {
  const { kind, title, rawInput, name, locations, content, _meta: meta } = objectIn(call);
  const given = objectIn(rawInput);
  const isGiven = Object.keys(given).length > 0;
  const claudes = textIn(objectIn(objectIn(meta)['claudeCode'])['toolName']);
  // Claude's adapter passes on the model's input of the tool; the other fields repeat it for display.
  if (claudes !== undefined && isGiven) return { tool: claudes, input: given };
  const known = Object.hasOwn(TOOLS, textIn(kind) ?? '') ? TOOLS[textIn(kind) ?? ''] : undefined;
  const command = textIn(given['command']);
  const tool =
    claudes ??
    textIn(name) ??
    known ??
    (command === undefined ? (textIn(kind) ?? 'a tool') : 'Bash');
  const words = textIn(title) ?? '';
  const places = listIn(locations);
  const path = /^(?:Edit|Write|Read)$/.test(tool) ? textIn(objectIn(places[0])['path']) : undefined;
  const change = isGiven || path === undefined ? undefined : onlyChange(listIn(content), path);
  const told = {
    ...(tool === 'Bash' && !isGiven && { command: words }),
    ...(path !== undefined && { file_path: path }),
    ...change,
    ...given,
  };
  const said: readonly unknown[] = Object.values(told);
  const isSaid = (value: unknown): boolean => said.includes(value);
  const untold = {
    ...(words !== '' && !isSaid(words) && { title: words }),
    ...(places.some((place) => !isSaid(objectIn(place)['path'])) && { locations }),
    ...(change === undefined && isThere(content) && { content }),
  };
  return { tool, input: together(told, untold) };
}

/** Merges the input of a tool with further fields of the call, which may have the same names. */
function together(
  told: Record<string, unknown>,
  untold: Record<string, unknown>,
): Record<string, unknown> {
  if (Object.keys(told).length === 0) return { title: '', ...untold };
  if (Object.keys(untold).length === 0) return told;
  return Object.hasOwn(told, 'also') ? { input: told, also: untold } : { ...told, also: untold };
}

/** Returns the arguments of an edit whose only content is a change of the file itself. */
function onlyChange(
  content: readonly unknown[],
  file: string,
): { old_string: string; new_string: string } | undefined {
  const { type, path, oldText, newText, ...more } = objectIn(content[0]);
  const isOfFile = typeof path === 'string' && (file === path || file.endsWith(`/${path}`));
  const isOnly = content.length === 1 && Object.keys(more).length === 0;
  if (type !== 'diff' || !isOfFile || !isOnly || typeof newText !== 'string') return undefined;
  if (typeof (oldText ?? '') !== 'string') return undefined;
  return { old_string: textIn(oldText) ?? '', new_string: newText };
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isThere(content: unknown): boolean {
  return Array.isArray(content) ? content.length > 0 : content !== undefined && content !== null;
}
