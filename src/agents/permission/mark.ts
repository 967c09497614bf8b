/** How dangerous something is that a tool asks for, from the least to the most. */
const MARKS = ['reads', 'writes', 'unknown', 'dangerous'] as const;
type Mark = (typeof MARKS)[number];

/** A mark, and why it is not lower, each reason in a few words. */
export interface Risk {
  mark: Mark;
  because: readonly string[];
}

/** Where a run works, and its HOME; both absolute. */
export interface Place {
  workdir: string;
  home: string;
}

/** The higher of two marks, with the reasons of both. */
export function higher(one: Risk, other: Risk): Risk {
  const mark = MARKS.indexOf(one.mark) >= MARKS.indexOf(other.mark) ? one.mark : other.mark;
  return { mark, because: [...new Set([...one.because, ...other.because])] };
}

/** Where a path leads by its text: absolute, and whether that is in the working directory. */
export interface Inside {
  absolute: string;
  inside: boolean;
  /** Its parts below the working directory. */
  parts: readonly string[];
}

/** Resolves a path as a tool would, by its text alone. */
export function insideOf(path: string, { workdir, home }: Place): Inside {
  const given = path === '~' || path.startsWith('~/') ? `${home}${path.slice(1)}` : path;
  const whole = given.startsWith('/') ? given : `${workdir}/${given}`;
  const parts: string[] = [];
  for (const part of whole.split('/'))
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  const absolute = `/${parts.join('/')}`;
  const inside = absolute === workdir || absolute.startsWith(`${workdir}/`);
  return {
    absolute,
    inside,
    parts: inside ? absolute.slice(workdir.length).split('/').filter(Boolean) : [],
  };
}
