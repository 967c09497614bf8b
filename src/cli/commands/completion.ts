import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { print, type Call, text } from '../command/command.ts';
import { isShell, SCRIPTS, SHELLS } from '../completion/scripts.ts';
import { liveCandidates } from '../../actions/completion/candidates.ts';
import { plan } from '../completion/complete.ts';
import type { Candidate, CompletionPlan } from '../completion/values.ts';
import { matching, bashQuoted, unquoted } from '../completion/completed.ts';
import { EXIT } from '../command/io.ts';
import type { CommandSpec } from '../command/spec.ts';

/** Milliseconds after which an answer is no longer useful to somebody who pressed TAB. */
const PATIENCE_MS = 2000;

export const commands: readonly CommandSpec[] = [
  {
    name: 'completion',
    args: '<shell>',
    summary: 'print a script that completes commands, options and names: bash, zsh, fish',
    details: [
      'bash: put  source <(crosstalk completion bash)  into ~/.bashrc',
      'zsh:  put  source <(crosstalk completion zsh)  into ~/.zshrc, after compinit',
      'fish: put  crosstalk completion fish | source  into ~/.config/fish/config.fish',
      'It makes ct the short name of crosstalk, where no other program has that name.',
    ].join('\n'),
    standalone: true,
    example: 'source <(crosstalk completion bash)',
    run,
  },
  {
    name: '__complete',
    args: '[words...]',
    summary: 'what the words of a command line, after --, can go on with; for completion scripts',
    options: [
      [
        '--bash <text>',
        'words are as typed, quotes and all; print what goes in the place of this end of the last',
      ],
    ],
    standalone: true,
    hidden: true,
    example: 'crosstalk __complete -- send --to ""',
    run: complete,
  },
];

async function run(call: Call): Promise<number> {
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

/**
 * Answers completion scripts: prints one candidate per line, as `value<TAB>description`. A line without a value,
 * `<TAB>files` or `<TAB>folders`, asks the shell to complete file names. After any failure it prints no candidates
 * and no error, with exit code 0.
 */
async function complete(call: Call, all: readonly CommandSpec[]): Promise<number> {
  try {
    call.io.out(await answer(call, all));
  } catch {
    // An error message would disturb somebody who is typing.
  }
  return EXIT.ok;
}

async function answer(call: Call, commands: readonly CommandSpec[]): Promise<string> {
  const given = call.args.map((word) => word ?? '');
  const replaced = text(call, 'bash');
  const words = replaced === undefined ? given : given.map((word) => unquoted(word).text);
  const chosen = plan(commands, words);
  const { source } = chosen;
  if (source.kind === 'files' || source.kind === 'folders') return `\t${source.kind}\n`;
  const found = source.kind === 'fixed' ? source.candidates : await lookUp(call, chosen);
  const insert = inserting(given.at(-1) ?? '', replaced);
  return matching(chosen, found)
    .map(({ value, description }) => `${insert(value)}\t${description}\n`)
    .join('');
}

/** Bash replaces only the last part of a word, so the part before it has to stay as it was typed. */
function inserting(last: string, replaced: string | undefined): (value: string) => string {
  if (replaced === undefined) return (value) => value;
  const kept = unquoted(
    last.endsWith(replaced) ? last.slice(0, last.length - replaced.length) : '',
  );
  return (value) => bashQuoted(value.slice(kept.text.length), kept.open);
}

async function lookUp(
  { io }: Call,
  { source, transport }: CompletionPlan,
): Promise<readonly Candidate[]> {
  if (source.kind !== 'live') return [];
  const late = AbortSignal.timeout(PATIENCE_MS);
  const tooLate = new Promise<Candidate[]>((resolve) => {
    late.addEventListener('abort', () => {
      resolve([]);
    });
  });
  const looking = liveCandidates({ env: io.env, cwd: io.cwd }, transport, source.of);
  const found = await Promise.race([looking.catch(() => []), tooLate]);
  return [...found, ...source.also];
}
