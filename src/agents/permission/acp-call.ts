import { objectIn, textIn } from '../output/reader.ts';

/** The tools of the Agent Client Protocol by their kind, as the tool that a person knows them by. */
const TOOLS: Readonly<Record<string, string>> = { execute: 'Bash', edit: 'Edit', read: 'Read' };

/**
 * What a person is asked, from a call of a tool as the Agent Client Protocol has it: the name of the tool and
 * its input. A title is what the agent wrote for people, so it stands in for an input that it does not tell.
 */
export function toolOfCall(call: unknown): { tool: string; input: Record<string, unknown> } {
  const { kind, title, rawInput, name, locations, content, _meta: meta } = objectIn(call);
  const given = objectIn(rawInput);
  const own = textIn(objectIn(objectIn(meta)['claudeCode'])['toolName']) ?? textIn(name);
  const known = Object.hasOwn(TOOLS, textIn(kind) ?? '') ? TOOLS[textIn(kind) ?? ''] : undefined;
  const command = textIn(given['command']);
  const tool = own ?? known ?? (command === undefined ? (textIn(kind) ?? 'a tool') : 'Bash');
  const words = textIn(title) ?? '';
  const first: unknown = Array.isArray(locations) ? locations[0] : undefined;
  const path = textIn(objectIn(first)['path']);
  const told = {
    ...(tool === 'Bash' && { command: command ?? words }),
    ...(/^(?:Edit|Write|Read)$/.test(tool) && path !== undefined && { file_path: path }),
    ...given,
  };
  if (Object.keys(told).length > 0) return { tool, input: told };
  return { tool, input: { title: words, ...(content !== undefined && { content }) } };
}
