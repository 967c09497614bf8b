import { withoutWebToken } from '../../credentials.ts';
import { withContext } from '../../actions/context.ts';
import { signAndPin } from '../../actions/keys/pinning.ts';
import type { InitInput, Initialised } from '../../actions/setup/input.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { flag, given, isYes, note, type Call } from './command.ts';

/** Returns the choices about a bus in a project, from the command line or a person at a terminal. */
export function projectInput(call: Call): Partial<InitInput> {
  const { ask } = call.io;
  return {
    ...given(call, 'join'),
    isPublic: flag(call, 'public'),
    isOpen: flag(call, 'anyoneWhoCanPush'),
    asBranch: flag(call, 'asBranch'),
    sign: async (transport) => {
      const noted = (line: string): void => {
        note(call, line);
      };
      const surroundings = { env: withoutWebToken(call.io.env), cwd: call.io.cwd };
      await withContext(surroundings, { transport, note: noted }, async (context) => {
        const { name, path, fingerprint } = await signAndPin(context, call.io.login);
        noted(`you sign as ${name} with ${path} (${fingerprint})`);
      });
    },
    ...(ask !== undefined &&
      !flag(call, 'json') && {
        askRemote: async (remotes) => {
          const names = remotes.map((name) => escapeInvisible(name));
          const usual = remotes.find((name) => name === 'origin') ?? remotes[0] ?? '';
          const answer = await ask(
            `Which remote carries the bus: ${names.join(', ')}? Just Enter for ${escapeInvisible(usual)}: `,
          );
          return answer.trim() === '' ? usual : answer;
        },
        askPublic: async (name) =>
          (await ask(`Everybody will read every message. Type ${name} to go on: `)).trim() === name,
        askBranch: async (reason) =>
          isYes(
            await ask(
              `The remote takes no ref of its own for the bus (${escapeInvisible(reason)}).\nUse the branch crosstalk-bus? Every clone fetches it, lists of branches show it, and a CI may build it, although its subjects begin with [skip ci]. [y/N] `,
            ),
          ),
      }),
  };
}

/** Words the bus of a project that was just made or joined. */
export function projectLines({ project }: Initialised): string[] {
  if (project === undefined) return [];
  const { top, remote, ref } = project;
  return [
    remote === undefined
      ? `The bus of ${escapeInvisible(top)} stays on this machine, as the project has no remote`
      : `The bus of ${escapeInvisible(top)}: ${ref} at ${escapeInvisible(remote)}`,
    'crosstalk finds it from anywhere in the project; nothing of the project was changed',
  ];
}
