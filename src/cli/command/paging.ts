import type { Io } from './io.ts';

/** The text of a command whose output may be longer than the screen. */
export interface Paging {
  out: Io['out'];
  /** Shows the output so far; from then on it is written immediately. */
  end: () => Promise<void>;
}

/**
 * Buffers the output of a command on a terminal, and shows it with a pager if it is longer than the screen. Nothing
 * in it can control the terminal, even if the pager passes it on.
 *
 * @param screen where the output goes, the function that removes control characters from it, and the number of lines
 * that fit there
 */
export function paging(
  screen: { write: Io['out']; clean: (text: string) => string; lines: number },
  surroundings: Pick<Io, 'env' | 'cwd'>,
  name: string,
): Paging {
  const parts: string[] = [];
  let isOver = false;
  return {
    out: (text) => {
      if (isOver) screen.write(text);
      else parts.push(screen.clean(text));
    },
    end: async () => {
      isOver = true;
      const text = parts.splice(0).join('');
      if (text.split('\n').length > screen.lines) {
        const { runPager } = await import('../../actions/session/pager.ts');
        if (await runPager(surroundings, text, `crosstalk ${name}`).catch(() => false)) return;
      }
      if (text !== '') screen.write(text);
    },
  };
}
