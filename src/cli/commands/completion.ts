import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { print, type Call } from '../command/command.ts';
import { isShell, SCRIPTS, SHELLS } from '../completion/scripts.ts';

export async function run(call: Call): Promise<number> {
  const shell = call.args[0] ?? '';
  if (!isShell(shell)) {
    throw new CrosstalkError(
      'usage',
      `no completion for ${shown(shell)}; choose one of: ${SHELLS.join(', ')}`,
    );
  }
  const script = SCRIPTS[shell];
  return print(call, { shell, script }, () => script.trimEnd());
}
