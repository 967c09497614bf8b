import { gemini as reading } from '../output/gemini.ts';
import { words, type Narrator } from './told.ts';

/** Characters of its output that are kept; of a longer one nothing is told. */
const MAX_KEPT = 256 * 1024;

/** Its JSON is one object at the end, over many lines, so nothing can be told of it on the way. */
export function gemini(): Narrator {
  let reader = reading();
  let kept = 0;
  return {
    line: (text) => {
      kept += text.length + 1;
      if (kept > MAX_KEPT) reader = reading();
      else reader.line(text);
      return [];
    },
    end: () => {
      const { text, error, usage } = reader.end('');
      return [
        ...words('says', text),
        ...words('fails', error),
        ...(usage === undefined ? [] : [{ kind: 'used', usage } as const]),
      ];
    },
  };
}
