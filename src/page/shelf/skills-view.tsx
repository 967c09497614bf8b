import type { JSX } from 'preact';
import type { WebSkill, WebSkills } from '../../api/api.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { ShelfLinks } from '../parts/shelf-links.tsx';
import { Loading, Problem, View } from '../parts/view.tsx';
import { Link } from '../route/link.tsx';
import { useShelf } from './use-shelf.ts';

/** The skills for which a message asks by beginning with `/name`. */
export function SkillsView(): JSX.Element {
  const { value, problem } = useShelf<WebSkills>('skills');
  return (
    <View title="Skills" class="shelf" beside={<ShelfLinks />}>
      <p class="dim">
        A message that begins with <code>/name</code> brings the text of that skill along.
      </p>
      <Problem words={problem} />
      <Loading of={{ value, problem }} />
      {value?.skills.length === 0 && (
        <p>
          This transport has no skills. <code>crosstalk skill add &lt;dir&gt;</code> adds one.
        </p>
      )}
      <ul class="plain hits">
        {value?.skills.map((skill) => (
          <li key={skill.name}>
            <p>
              <Link to={{ view: 'skill', name: skill.name }} class="mono">
                /{skill.name}
              </Link>{' '}
              <SkillFacts skill={skill} />
            </p>
            <p dir="auto">
              <bdi>{escapeInvisible(skill.description)}</bdi>
            </p>
            {skill.problem !== null && (
              <p class="bad">cannot be read: {escapeInvisible(skill.problem)}</p>
            )}
          </li>
        ))}
      </ul>
      {value?.more === true && <p class="dim">There are more than are listed.</p>}
    </View>
  );
}

/** Where a skill comes from, and who takes it unless everybody does. */
export function SkillFacts({ skill }: { skill: WebSkill }): JSX.Element {
  const { path, replaces_upstream: isInstead, taken_by: takers, taken_by_more: more } = skill;
  const isLocal = path.startsWith('local/');
  return (
    <>
      <span class="chip">{isLocal ? 'local' : 'comes with Crosstalk'}</span>{' '}
      {isInstead && <span class="chip wait">instead of the one that comes with Crosstalk</span>}{' '}
      {takers !== null && (
        <span class="dim">
          {takers.length === 0 ? (
            'no actor takes it'
          ) : (
            <>
              only for <bdi>{takers.join(', ')}</bdi>
              {more > 0 && ` and ${String(more)} more`}
            </>
          )}
        </span>
      )}
    </>
  );
}
