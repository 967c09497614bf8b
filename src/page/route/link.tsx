import type { ComponentChildren, JSX } from 'preact';
import { useNavigation } from './navigation.ts';
import { pathOf, type Route } from './route.ts';

interface Props {
  to: Route;
  children?: ComponentChildren;
  class?: string;
  /** Whether it leads to the current view. */
  current?: boolean;
  label?: string;
  title?: string;
}

/** A link within the page. It is an ordinary link, so that it can be copied and opened elsewhere. */
export function Link({ to, children, class: style, current, label, title }: Props): JSX.Element {
  const { go } = useNavigation();
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      href={pathOf(to)}
      onClick={follow}
      {...(style !== undefined && { class: style })}
      {...(current === true && { 'aria-current': 'page' as const })}
      {...(label !== undefined && { 'aria-label': label })}
      {...(title !== undefined && { title })}
    >
      {children}
    </a>
  );
}
