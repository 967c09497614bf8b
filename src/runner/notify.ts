import { spawn } from 'node:child_process';

/** A notification of the desktop: plain text of one line each. */
export interface Notification {
  summary: string;
  body: string;
}

/** How notifications reach the operator's desktop. */
export type Desktop =
  | { kind: 'none' }
  /** By a control sequence to the terminal, which shows it wherever it runs. */
  | { kind: 'terminal'; format: (notification: Notification) => string }
  | { kind: 'program'; command: (notification: Notification) => readonly string[] };

const LIMIT_MS = 5000;
/** Terminals that show OSC 777 with a summary and a text, and those that show OSC 9 with a text. */
const OSC_777 = /^(foot|ghostty|xterm-ghostty|wezterm|rxvt-unicode)/i;
const OSC_9 = /^(iterm\.app|xterm-kitty|kitty)/i;

/**
 * How to notify, told from the environment. Where it is not known for sure there is no way: a
 * sequence that a terminal does not know might be printed.
 *
 * @param platform as in `process.platform`
 * @param has whether a program is on the PATH
 */
export function desktopOf(
  env: NodeJS.ProcessEnv,
  platform: string,
  has: (program: string) => boolean,
): Desktop {
  const names = [env['TERM_PROGRAM'] ?? '', env['TERM'] ?? ''];
  // A multiplexer passes on what it knows, and it says so in TERM.
  const inside = (env['TMUX'] ?? '') !== '' || /^(tmux|screen)/.test(env['TERM'] ?? '');
  if (!inside && names.some((name) => OSC_777.test(name)))
    return {
      kind: 'terminal',
      format: ({ summary, body }) =>
        `\u001b]777;notify;${summary.replaceAll(';', ',')};${body.replaceAll(';', ',')}\u001b\\`,
    };
  if (!inside && names.some((name) => OSC_9.test(name)))
    return {
      kind: 'terminal',
      format: ({ summary, body }) => `\u001b]9;${summary}: ${body}\u001b\\`,
    };
  // Another machine's desktop is not where the operator sits.
  if ((env['SSH_CONNECTION'] ?? '') !== '') return { kind: 'none' };
  if (platform === 'darwin' && has('osascript'))
    return {
      kind: 'program',
      command: ({ summary, body }) => ['osascript', ...APPLE_SCRIPT, summary, body],
    };
  const display = ['WAYLAND_DISPLAY', 'DISPLAY'].some((name) => (env[name] ?? '') !== '');
  if (display && has('notify-send'))
    return {
      kind: 'program',
      command: ({ summary, body }) => [
        'notify-send',
        '--app-name=crosstalk',
        '--',
        summary,
        markup(body),
      ],
    };
  return { kind: 'none' };
}

/** The texts are its arguments, never part of the script. */
const APPLE_SCRIPT = [
  '-e',
  'on run argv',
  '-e',
  'display notification (item 2 of argv) with title (item 1 of argv)',
  '-e',
  'end run',
];

/** Most notification servers read the text as markup. */
function markup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Runs a notifier to its end; whether it could do anything does not matter. */
export function runNotifier([program = '', ...args]: readonly string[], signal: AbortSignal): void {
  const child = spawn(program, args, { stdio: 'ignore', timeout: LIMIT_MS, signal });
  child.on('error', () => undefined);
}
