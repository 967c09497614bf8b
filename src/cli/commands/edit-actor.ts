import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { editProfile, profileToEdit } from '../../operations/setup/edit-actor.ts';
import { runEditor } from '../../operations/session/editor.ts';
import type { Context } from '../../operations/context.ts';
import { readFileOrStdin } from '../command/body.ts';
import { inTransport, print, text, type Call } from '../command/command.ts';

/** `actor edit`: with `--file`, or in the editor of whoever sits at the terminal. */
export function run(call: Call): Promise<number> {
  const name = call.args[0] ?? '';
  const file = text(call, 'file');
  return inTransport(call, async (context) => {
    if (file !== undefined) return put(call, context, await readFileOrStdin(call, file));
    const { path, text: before } = await profileToEdit(context, name);
    const folder = await mkdtemp(join(tmpdir(), 'crosstalk-edit-'));
    const draft = join(folder, `${name}.md`);
    await writeFile(draft, before, { mode: 0o600 });
    await edit(call, draft);
    const after = await readFile(draft, 'utf8');
    if (after.trim() === '')
      throw new CrosstalkError('refused', `the text is empty, so ${path} stays as it is`);
    const code = await put(call, context, after).catch((error: unknown) => {
      if (!(error instanceof CrosstalkError)) throw error;
      throw new CrosstalkError(
        error.code,
        `${error.message}; your text is kept: crosstalk actor edit ${name} --file ${draft}`,
        { cause: error },
      );
    });
    await rm(folder, { recursive: true, force: true });
    return code;
  });
}

async function put(call: Call, context: Context, text: string): Promise<number> {
  const name = call.args[0] ?? '';
  const { path, isChanged } = await editProfile(context, { name, text, login: call.io.login });
  return print(call, { actor: name, path, changed: isChanged }, () =>
    isChanged ? `Changed: ${path}` : `Nothing changed in ${path}`,
  );
}

async function edit({ io }: Call, file: string): Promise<void> {
  if (!io.inIsTty || !io.outIsTty)
    throw new CrosstalkError(
      'usage',
      'there is no terminal for an editor; give the profile with --file <path>, or with --file - on stdin',
    );
  await runEditor(io, file);
}
