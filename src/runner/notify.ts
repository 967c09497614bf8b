import { spawn } from 'node:child_process';

/** A desktop notification: plain text, one line each. */
export interface Notification {
  summary: string;
  body: string;
}

/** A method of showing notifications on the operator's desktop. */
export type Desktop =
  | { kind: 'none' }
  /** By a control sequence to the terminal, which works wherever the terminal runs. */
  | { kind: 'terminal'; format: (notification: Notification) => string }
  | { kind: 'program'; command: (notification: Notification) => readonly string[] };

const LIMIT_MS = 5000;
/**
 * Terminals that support OSC 777 with a summary and a text, and those that support OSC 9 with a
 * text.
 */
const OSC_777 = /^(foot|ghostty|xterm-ghostty|wezterm|rxvt-unicode)/i;
const OSC_9 = /^(iterm\.app|xterm-kitty|kitty)/i;

/**
 * Determines from the environment how to notify. In doubt the kind is `none`, because a terminal might print a sequence
 * that it does not know.
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
  // A multiplexer passes on only the sequences it knows, and names itself in TERM.
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
  // The operator does not sit at the desktop of this machine.
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

/** An AppleScript; the texts are its arguments, never part of it. */
const APPLE_SCRIPT = [
  '-e',
  'on run argv',
  '-e',
  'display notification (item 2 of argv) with title (item 1 of argv)',
  '-e',
  'end run',
];

/** Escapes a text, because most notification servers read it as markup. */
function markup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Runs a notifier until it ends; whether it succeeded does not matter. */
export function runNotifier([program = '', ...args]: readonly string[], signal: AbortSignal): void {
  const child = spawn(program, args, { stdio: 'ignore', timeout: LIMIT_MS, signal });
  child.on('error', () => undefined);
}
