import type { ComponentChildren, JSX } from 'preact';
import { connectionWords } from '../live/model.ts';
import { useModel } from '../live/use-live.ts';

interface Props {
  title: string;
  /** The elements beside the title. */
  beside?: ComponentChildren;
  class?: string;
  children?: ComponentChildren;
}

/** A view: its heading and the content below it. */
export function View({ title, beside, class: style, children }: Props): JSX.Element {
  return (
    <div class={`view ${style ?? ''}`}>
      <header>
        <h1 tabIndex={-1}>
          <bdi>{title}</bdi>
        </h1>
        {beside}
      </header>
      {children}
    </div>
  );
}

/** Explains why something is missing; not twice where the line about the connection says it already. */
export function Problem({ words }: { words: string | undefined }): JSX.Element | null {
  const { connection, refusal } = useModel();
  if (words === undefined || words === connectionWords(connection, refusal)) return null;
  return (
    <p class="problem" role="alert">
      {words}
    </p>
  );
}

/** Sign that something is being loaded; nothing once it is there, or the reason why it is not. */
export function Loading({
  of,
}: {
  of: { value: unknown; problem: string | undefined };
}): JSX.Element | null {
  if (of.value !== undefined || of.problem !== undefined) return null;
  return (
    <p class="dim" role="status">
      Loading…
    </p>
  );
}
