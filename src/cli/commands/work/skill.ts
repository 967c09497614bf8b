import { addSkill } from '../../../operations/skills/add.ts';
import { listSkills, showSkill } from '../../../operations/skills/list.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { flag, given, inTransport, note, print, type Call } from '../../command/command.ts';
import { colourless, table } from '../../view/render.ts';

export function run(call: Call): Promise<number> {
  switch (call.name) {
    case 'skill add':
      return add(call);
    case 'skill show':
      return show(call);
    default:
      return list(call);
  }
}

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
