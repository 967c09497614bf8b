import type { ComponentChildren, JSX } from 'preact';

interface Props {
  title: string;
  /** What stands beside the title. */
  beside?: ComponentChildren;
  class?: string;
  children?: ComponentChildren;
}

/** One view: its heading and what is below it. */
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

/** Says why something is not there. */
export function Problem({ words }: { words: string | undefined }): JSX.Element | null {
  if (words === undefined) return null;
  return (
    <p class="problem" role="alert">
      {words}
    </p>
  );
}
