import { ALLOW_SECRET, FROM, type CommandSpec } from '../command/spec.ts';

const load: CommandSpec['load'] = () => import('../commands/work/skill.ts');

/** The rows of the command table about skills: texts that a message asks for with `/name`. */
export const SKILL_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'skill list',
    summary: 'the skills that a message can ask for by beginning with /name',
    inRun: true,
    example: 'crosstalk skill list',
    paged: true,
    load,
  },
  {
    name: 'skill show',
    args: '<skill>',
    summary: 'one skill: what the actor is told, and the files beside it',
    inRun: true,
    example: 'crosstalk skill show review',
    paged: true,
    load,
  },
  {
    name: 'skill add',
    args: '<dir>',
    summary: 'put a folder with a SKILL.md on the bus, for every actor',
    details:
      'It replaces the skill of the same name in local/skills/, and goes before one in upstream/skills/.',
    options: [FROM, ALLOW_SECRET],
    notInRun: 'skills are for every actor, and an operator adds them',
    example: 'crosstalk skill add ~/skills/triage',
    load,
  },
];
