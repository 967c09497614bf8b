import type { CommandSpec } from '../command/spec.ts';

/**
 * The rows of the command table that are about completion in a shell.
 *
 * @param commands returns the whole table; called only when a command runs, because the table
 *   imports this file
 */
export function completionCommands(commands: () => readonly CommandSpec[]): CommandSpec[] {
  return [
    {
      name: 'completion',
      args: '<shell>',
      summary: 'print a script that completes commands, options and names: bash, zsh, fish',
      details: [
        'bash: put  source <(crosstalk completion bash)  into ~/.bashrc',
        'zsh:  put  source <(crosstalk completion zsh)  into ~/.zshrc, after compinit',
        'fish: save it as crosstalk.fish and as ct.fish in ~/.config/fish/completions',
      ].join('\n'),
      standalone: true,
      example: 'source <(crosstalk completion bash)',
      load: () => import('../commands/completion.ts'),
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
      load: async () => (await import('../commands/complete.ts')).completing(commands()),
    },
  ];
}
