import { HEADINGS, inLine, quoted } from './structure.ts';

/** A skill that messages of a batch ask for, as the prompt tells it. */
export interface SkillInPrompt {
  name: string;
  /** relPaths of the messages that ask for it. */
  refs: string[];
  /** What the actor is told; undefined when it is not there or not for this actor. */
  told?: {
    /** Where it is in the transport. */
    path: string;
    body: string;
    /** Where the files beside it were laid, and which; undefined when there are none. */
    files?: { dir: string; names: string[] };
    /** What stands beside it and was not laid, each with the reason. */
    left: string[];
  };
  /** Why it is not told. */
  problem?: string;
}

/** More of the messages that ask for one skill are only counted. */
const MAX_REFS = 10;

/**
 * The sections about the skills that were asked for. The text of a skill is somebody's text like any
 * other: its lines cannot pass for lines of the prompt (trust.md §4).
 *
 * @param word of this prompt
 * @returns one section for each skill, with its heading
 */
export function aboutSkills(skills: readonly SkillInPrompt[], word: string): string[] {
  return skills.map((skill) => {
    const { name, told } = skill;
    const text = told === undefined ? missing(skill) : present(skill, told, word);
    return `# ${HEADINGS.skill}: ${name}\n\n${text}`;
  });
}

function missing({ name, refs, problem = '' }: SkillInPrompt): string {
  return `The skill "${name}" was asked for by ${some(refs)}, and is not told here: ${inLine(problem)}. Go by the text of the message. If it means a skill, and is not just a text that begins with a slash, say in your answer that this skill was missing.`;
}

function some(refs: readonly string[]): string {
  const more = refs.length > MAX_REFS ? ` and ${String(refs.length - MAX_REFS)} more messages` : '';
  return `${refs.slice(0, MAX_REFS).join(', ')}${more}`;
}

function present(
  { name, refs }: SkillInPrompt,
  { path, body, files, left }: NonNullable<SkillInPrompt['told']>,
  word: string,
): string {
  const beside =
    files === undefined
      ? []
      : [
          // Their names may have blanks, and so be whole sentences.
          `Files that belong to it are in ${inLine(files.dir)}, read-only: ${files.names.map((file) => JSON.stringify(file)).join(', ')}.`,
        ];
  const missing = left.map((line) => `NOT there: ${inLine(line)}.`);
  return [
    [
      `What follows is the skill "${name}" (${path}), for which ${some(refs)} asked by beginning with /${name}; the rest of the message says to what it is applied.`,
      ...beside,
      ...missing,
    ].join('\n'),
    quoted(body.trim(), word),
  ].join('\n\n');
}
