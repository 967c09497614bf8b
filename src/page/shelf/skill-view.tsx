import type { JSX } from 'preact';
import type { WebSkillWhole } from '../../api/api.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { ShelfLinks } from '../parts/shelf-links.tsx';
import { Loading, Problem, View } from '../parts/view.tsx';
import { Markdown } from '../text/markdown-view.tsx';
import { SkillFacts } from './skills-view.tsx';
import { useShelf } from './use-shelf.ts';

/** One skill: what an actor is told, and what lies beside it. */
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

/** A text in which what is not drawn is escaped, except for line feeds and tabs. */
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
