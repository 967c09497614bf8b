import { isName, toName } from '../../protocol/names.ts';
import { writerOf } from '../../operations/locate.ts';
import type { ServerSurroundings } from './tool.ts';

const LONGEST = 64;

/**
 * The surroundings in which a client's calls run. Whatever nobody gave another sender is written by
 * the client under the name that it announced, after the name of the person it works for if this
 * clone knows that: a model's words and its operator's are told apart, and so are two people's
 * clients. `--from`, the actor of a run and `CROSSTALK_FROM` come first.
 *
 * @param client tells the name that the client announced, which it does before its first call
 * @param person the value of `git config crosstalk.from`
 */
export function writingAs(
  surroundings: ServerSurroundings,
  client: () => string | undefined,
  person: string | undefined,
): ServerSurroundings {
  const given = surroundings.from ?? writerOf(surroundings);
  if (given !== undefined) return surroundings;
  const from = (): string | undefined => {
    const name = toName(client() ?? '');
    if (name === undefined || person === undefined) return name;
    const both = `${person}-${name}`.slice(0, LONGEST);
    return isName(both) ? both : name;
  };
  return {
    ...surroundings,
    get from() {
      return from();
    },
  };
}
