import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { isCapable } from '../view/render.ts';
import { isYes } from '../command/command.ts';
import type { Io } from '../command/io.ts';

/** One of several answers. */
export interface Choice {
  value: string;
  label: string;
  /** Remark beside its label. */
  hint?: string;
}

/** Questions to a person on a terminal; each throws CrosstalkError `aborted` where the person breaks off. */
export interface Prompts {
  /** Asks for a line; an empty one takes the proposal. */
  text: (message: string, proposal?: string) => Promise<string>;
  /** @param first the value that Enter takes */
  choose: (message: string, choices: readonly Choice[], first: string) => Promise<string>;
  /** @param first the answer that Enter gives */
  confirm: (message: string, first: 'yes' | 'no') => Promise<boolean>;
  say: (line: string) => void;
  /** Returns the number of questions asked. */
  count: () => number;
}

/**
 * Makes the prompts of the terminal: with a screen where it has one, otherwise plain lines.
 *
 * @param title the text above the first of them
 * @returns undefined where nobody can be asked: off a terminal, and where `CI` is set
 */
export async function promptsOn(io: Io, title: string): Promise<Prompts | undefined> {
  const { ask, env } = io;
  if (ask === undefined || !io.outIsTty || !/^(?:|false|0)$/.test(env['CI'] ?? ''))
    return undefined;
  if (!isCapable(env)) return plainPrompts(ask, io.err);
  const { confirm, intro, isCancel, log, select, text } = await import('./prompt-packages.ts');
  const output = process.stderr;
  let asked = 0;
  let isBegun = false;
  const begin = (): void => {
    if (!isBegun) intro(title, { output });
    isBegun = true;
  };
  const answered = async <T>(question: () => Promise<T>): Promise<Exclude<T, symbol>> => {
    begin();
    asked++;
    const answer = await question();
    if (isCancel(answer)) throw new CrosstalkError('aborted', 'interrupted');
    return answer as Exclude<T, symbol>;
  };
  return {
    text: async (message, proposal = '') => {
      const shownFirst = { placeholder: proposal, defaultValue: proposal };
      return (await answered(() => text({ message, output, ...shownFirst }))).trim();
    },
    choose: (message, choices, initialValue) =>
      answered(() =>
        select({ message, output, options: [...choices], initialValue, showInstructions: false }),
      ),
    confirm: (message, first) =>
      answered(() => confirm({ message, output, initialValue: first === 'yes' })),
    say: (line) => {
      begin();
      log.warn(line, { output });
    },
    count: () => asked,
  };
}

function plainPrompts(ask: NonNullable<Io['ask']>, err: Io['err']): Prompts {
  let asked = 0;
  const answer = async (question: string): Promise<string> => {
    asked++;
    return (await ask(question)).trim();
  };
  const say = (line: string): void => {
    err(`${line}\n`);
  };
  return {
    say,
    count: () => asked,
    text: async (message, proposal = '') => {
      const usual = proposal === '' ? '' : `, or just Enter for ${proposal}`;
      return (await answer(`${message}${usual}: `)) || proposal;
    },
    choose: async (message, choices, first) => {
      const rows = choices.map(
        ({ label, hint }, at) =>
          `  ${String(at + 1)}  ${label}${hint === undefined ? '' : ` (${hint})`}\n`,
      );
      const usual = choices.findIndex(({ value }) => value === first) + 1;
      for (;;) {
        const number = await answer(
          `${message}\n${rows.join('')}Its number, or just Enter for ${String(usual)}: `,
        );
        const chosen = number === '' ? first : choices[Number(number) - 1]?.value;
        if (chosen !== undefined) return chosen;
        say(`${shown(number)} is not a number from 1 to ${String(choices.length)}`);
      }
    },
    confirm: async (message, first) => {
      const said = await answer(`${message} [${first === 'yes' ? 'Y/n' : 'y/N'}] `);
      return isYes(said === '' ? first : said);
    },
  };
}
