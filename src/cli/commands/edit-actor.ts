import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { editProfile, profileToEdit } from '../../actions/setup/edit-actor.ts';
import { runEditor } from '../../actions/session/editor.ts';
import type { Context } from '../../actions/context.ts';
import { readFileOrStdin, readTextFile } from '../command/body.ts';
import { given, inTransport, note, print, text, type Call } from '../command/command.ts';
import { FROM, type CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'actor edit',
    args: '<name>',
    summary: 'change what an actor is told: opens its profile in your editor, and commits it',
    options: [
      [
        '--file <path>',
        'take it from a file, or stdin with -: a profile, or only what follows its header',
      ],
      FROM,
    ],
    example: 'crosstalk actor edit reviewer',
    run,
  },
];

/** Runs `actor edit`: with `--file`, or in the editor of the person at the terminal. */
function run(call: Call): Promise<number> {
  const file = text(call, 'file');
  return inTransport(call, async (context) => {
    if (file !== undefined) return put(call, context, await readFileOrStdin(call, file));
    const { io, args } = call;
    const name = args[0] ?? '';
    const { text: before } = await profileToEdit(context, name);
    if (!io.inIsTty || !io.outIsTty)
      throw new CrosstalkError(
        'usage',
        'there is no terminal for an editor; give the profile with --file <path>, or with --file - on stdin',
      );
    const folder = await mkdtemp(join(tmpdir(), 'crosstalk-edit-'));
    const draft = join(folder, `${name}.md`);
    await writeFile(draft, before, { mode: 0o600 });
    try {
      await runEditor(io, draft);
      const now = await readTextFile(draft, 'what the editor left', 'nothing was changed');
      const code = await put(call, context, now, before);
      await rm(folder, { recursive: true, force: true });
      return code;
    } catch (error) {
      const isWritten = (await readFile(draft, 'utf8').catch(() => before)) !== before;
      if (!isWritten) await rm(folder, { recursive: true, force: true });
      if (!isWritten || !(error instanceof CrosstalkError)) throw error;
      const kept = `your text is kept: crosstalk actor edit ${name} --file ${draft}`;
      throw new CrosstalkError(error.code, `${error.message}; ${kept}`, { cause: error });
    }
  });
}

/** @param before the profile that was edited, if it was shown to be */
async function put(call: Call, context: Context, text: string, before?: string): Promise<number> {
  const { io, args } = call;
  const name = args[0] ?? '';
  const { path, isChanged, toolsApproved } = await editProfile(context, {
    name,
    text,
    login: io.login,
    ...given(call, 'from'),
    ...(before !== undefined && { before }),
  });
  if (toolsApproved === false)
    note(call, `the tools of ${name} wait for approval: crosstalk host show`);
  return print(call, { actor: name, path, changed: isChanged }, () =>
    isChanged ? `Changed: ${path}` : `Nothing changed in ${path}`,
  );
}
