import { useEffect, useState } from 'preact/hooks';
import type { WebSkill, WebSkills } from '../../api/api.ts';
import { get } from '../live/api.ts';

/** The beginning of a text that asks for a skill: the whole text up to the caret. */
const CALLING = /^\/([a-z0-9-]{0,64})$/;

/** Returns the part of a skill's name that was typed before the caret; undefined where none is being typed. */
export function skillTyped(text: string, caret: number): string | undefined {
  // The text after it has to be a word of its own.
  return /^(\s|$)/.test(text.slice(caret)) ? CALLING.exec(text.slice(0, caret))?.[1] : undefined;
}

/** Returns the skills whose names begin with the typed text, then those that have it elsewhere. */
export function skillsFor(typed: string, known: readonly WebSkill[]): WebSkill[] {
  const readable = known.filter(({ problem }) => problem === null);
  const beginning = readable.filter(({ name }) => name.startsWith(typed));
  const within = readable.filter(({ name }) => name.indexOf(typed) > 0);
  return [...beginning, ...within];
}

/** Returns a text in which the name that is being typed is complete, and the place of the caret after it. */
export function withSkill(
  text: string,
  caret: number,
  name: string,
): { text: string; caret: number } {
  const rest = text.slice(caret).replace(/^ /, '');
  const head = `/${name} `;
  return { text: head + rest, caret: head.length };
}

/**
 * Returns the skills of the transport, loaded when somebody starts to ask for one, and not before.
 *
 * @param isWanted whether a name is being typed
 */
export function useSkills(isWanted: boolean): readonly WebSkill[] {
  const [skills, setSkills] = useState<readonly WebSkill[]>([]);
  useEffect(() => {
    if (!isWanted) return undefined;
    const stop = new AbortController();
    get<WebSkills>('skills', {}, stop.signal).then(
      ({ skills: found }) => {
        setSkills(found);
      },
      // Names can be typed without being offered.
      () => undefined,
    );
    return () => {
      stop.abort();
    };
  }, [isWanted]);
  return skills;
}
