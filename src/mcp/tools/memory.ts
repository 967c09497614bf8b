import { addedMemoryJson, memoryJson } from '../../actions/shapes/as-json.ts';
import { addMemory } from '../../actions/memory/add.ts';
import { searchMemories } from '../../actions/memory/list.ts';
import { MAX_SUPERSEDED, MEMORY_CHANGES, MEMORY_KINDS } from '../../protocol/files/memory.ts';
import { defined, shapes, tool, type Tool, type Z } from '../kit/tool.ts';
import { MEMORY } from '../../present/parameters.ts';

/** Returns the tools for shared notes. */
export function memoryTools(z: Z): Tool[] {
  const { result, marked } = shapes(z);
  const memory = {
    file: z.string().describe('name of the note'),
    from: z.string(),
    timestamp: z.string(),
    scope: z.string(),
    alias: z.array(z.string()),
    name: z.string().nullable(),
    kind: z.enum(MEMORY_KINDS),
    supersedes: z.string().nullable(),
    supersedes_also: z.array(z.string()),
    change: z.enum(MEMORY_CHANGES).nullable(),
    changed_by: z.string().nullable(),
  };
  return [
    tool({
      name: 'memory_add',
      title: 'Write a shared note',
      description:
        'Write a note that everybody on the bus finds later: a decision, a fact, a convention. Use it when the operator wants something remembered, not for passing talk. Notes are never changed: to correct one, name it in supersedes.',
      input: z.strictObject({
        subject: z.string().min(1).describe(MEMORY.subject),
        body: z.string().min(1),
        scope: z
          .string()
          .optional()
          .describe('global (default), actor:<name>, or the channel it is for: name or id'),
        name: z.string().optional().describe(MEMORY.name),
        kind: z.enum(MEMORY_KINDS).optional().describe('note by default'),
        alias: z
          .array(z.string().min(1))
          .max(20)
          .optional()
          .describe('other words under which it should be found'),
        supersedes: z
          .union([z.string(), z.array(z.string()).max(MAX_SUPERSEDED)])
          .optional()
          .describe('the note it replaces, or several: file name, unique hex suffix or name'),
      }),
      output: result({
        ...memory,
        subject: z.string(),
        status: z.enum(['remembered', 'queued']),
        reason: z.string().nullable(),
      }),
      hints: {},
      run: ({ scope = 'global', alias = [], supersedes = [], ...given }, { open, surroundings }) =>
        open(async (context) => {
          const from = defined({ from: surroundings.from });
          const lists = { alias, supersedes: [supersedes].flat() };
          const input = { ...defined(given), ...from, scope, ...lists, login: surroundings.login };
          return addedMemoryJson(await addMemory(context, input));
        }),
    }),
    tool({
      name: 'memory_search',
      title: 'Search shared notes',
      description:
        'Find shared notes by words, best first. Use it before asking or deciding something that may have been settled.',
      input: z.strictObject({
        words: z.string().min(1),
        scope: z.string().optional().describe(MEMORY.scope),
        all: z.boolean().optional().describe(MEMORY.all),
      }),
      output: result({
        memories: z.array(
          z.looseObject({
            ...memory,
            subject: marked,
            channel: z.string().nullable(),
            superseded_by: z.string().nullable(),
            excerpt: marked,
          }),
        ),
      }),
      hints: { reads: true },
      run: ({ words, all = false, ...given }, { open, marks }) =>
        open(async (context) => {
          const found = await searchMemories(context, { words, all, ...defined(given) });
          return {
            memories: found.map((one) => {
              const json = memoryJson(one);
              const more = (): string => `the resource crosstalk://memory/${json.file}`;
              return {
                ...json,
                subject: marks.mark(json.subject, json.from),
                excerpt: marks.mark(one.excerpt, json.from, more),
              };
            }),
          };
        }),
    }),
  ];
}
