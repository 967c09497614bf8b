import type { JSX } from 'preact';
import type { WebSkillWhole, WebSkill, WebSkills } from '../../api/api.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { ShelfLinks } from '../parts/shelf-links.tsx';
import { Loading, Problem, View } from '../parts/view.tsx';
import { Markdown } from '../text/markdown-view.tsx';
import { useShelf } from './use-shelf.ts';
import { Link } from '../route/link.tsx';

/** One skill: the text that an actor receives, and the files beside it. */
export function SkillView({ name }: { name: string }): JSX.Element {
  const { value: skill, problem } = useShelf<WebSkillWhole>(`skills/${name}`);
  return (
    <View title={`/${name}`} class="shelf" beside={<ShelfLinks />}>
      <Problem words={problem} />
      <Loading of={{ value: skill, problem }} />
      {skill !== undefined && <Skill skill={skill} />}
    </View>
  );
}

function Skill({ skill }: { skill: WebSkillWhole }): JSX.Element {
  const { description, path, body, files, left, problem } = skill;
  return (
    <>
      <p dir="auto">
        <bdi>{escapeInvisible(description)}</bdi>
      </p>
      <p>
        <code>{path}</code> <SkillFacts skill={skill} />
      </p>
      {problem !== null && <p class="bad">It cannot be read: {escapeInvisible(problem)}</p>}
      {body !== '' && (
        <section aria-label="Text" class="card">
          <Markdown text={body} />
          <details>
            <summary>As an actor is told it</summary>
            <pre class="source" tabIndex={0} role="group" aria-label="Text as an actor is told it">
              {sourceOf(body)}
            </pre>
          </details>
        </section>
      )}
      <Names title="Files beside it, which a run gets to read" names={files} />
      <Names title="Left out" names={left} />
    </>
  );
}

/** Returns a text in which invisible characters are escaped, except for line feeds and tabs. */
function sourceOf(text: string): string {
  return text
    .split(/([\n\t])/)
    .map(withoutHidden)
    .join('');
}

function withoutHidden(part: string): string {
  return part === '\n' || part === '\t' ? part : escapeInvisible(part);
}

function Names({ title, names }: { title: string; names: readonly string[] }): JSX.Element | null {
  if (names.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {names.map((name) => (
          <li key={name} class="mono">
            <bdi>{escapeInvisible(name)}</bdi>
          </li>
        ))}
      </ul>
    </section>
  );
}

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

/** Origin of a skill, and who takes it unless everybody does. */
function SkillFacts({ skill }: { skill: WebSkill }): JSX.Element {
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
