import { addSkill } from '../../../actions/skills/add.ts';
import { listSkills, showSkill } from '../../../actions/skills/list.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { flag, given, inTransport, note, print, type Call } from '../../command/command.ts';
import { ALLOW_SECRET, FROM, type CommandSpec } from '../../command/spec.ts';
import { colourless, table } from '../../view/render.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'skill list',
    summary: 'the skills that a message can ask for by beginning with /name',
    inRun: true,
    example: 'crosstalk skill list',
    paged: true,
    run: list,
  },
  {
    name: 'skill show',
    args: '<skill>',
    summary: 'one skill: what the actor is told, and the files beside it',
    inRun: true,
    example: 'crosstalk skill show review',
    paged: true,
    run: show,
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
    run: add,
  },
];

function list(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const skills = await listSkills(context);
    if (skills.length === 0) note(call, 'no skills; add one with: crosstalk skill add <dir>');
    return print(call, skills, () =>
      table(
        skills.map(({ name, path, description, problem }) => [
          name,
          path.startsWith('local/') ? 'local' : 'upstream',
          escapeInvisible(problem === null ? description : `cannot be read: ${problem}`),
        ]),
      ),
    );
  });
}

function show(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const skill = await showSkill(context, call.args[0] ?? '');
    return print(call, skill, () =>
      [
        table([
          ['name', skill.name],
          ['description', escapeInvisible(skill.description)],
          ['file', skill.path],
          ...skill.files.map((name) => ['beside it', name]),
          ...skill.left.map((line) => ['left out', escapeInvisible(line)]),
        ]),
        '',
        colourless(skill.body).trim(),
      ].join('\n'),
    );
  });
}

function add(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const { name, path, files, left, delivered } = await addSkill(context, {
      dir: call.args[0] ?? '',
      login: call.io.login,
      allowSecret: flag(call, 'allowSecret'),
      ...given(call, 'from'),
    });
    for (const line of left) note(call, `left out: ${line}`);
    const status = delivered.published ? 'added' : 'queued';
    const result = { name, path, files, left, status };
    const word = delivered.published ? 'Added' : 'Queued';
    return print(
      call,
      result,
      () => `${word}: ${path}; use it with: crosstalk send --to <actor> "/${name} <text>"`,
    );
  });
}
