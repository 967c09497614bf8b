import type { JSX } from 'preact';
import { Link } from '../route/link.tsx';
import { useNavigation } from '../route/navigation.ts';
import type { Route } from '../route/route.ts';

const SHELVES: readonly { to: Route; name: string; views: Route['view'][] }[] = [
  { to: { view: 'search', words: '' }, name: 'Messages', views: ['search'] },
  { to: { view: 'notes' }, name: 'Notes', views: ['notes', 'note', 'changes'] },
  { to: { view: 'skills' }, name: 'Skills', views: ['skills', 'skill'] },
  { to: { view: 'automation' }, name: 'Automation', views: ['automation'] },
];

/** Links to the libraries: messages, notes and skills. */
export function ShelfLinks(): JSX.Element {
  const { route } = useNavigation();
  return (
    <ul class="plain shelves" aria-label="What to look through">
      {SHELVES.map(({ to, name, views }) => (
        <li key={name}>
          <Link to={to} class="button" current={views.includes(route.view)}>
            {name}
          </Link>
        </li>
      ))}
    </ul>
  );
}
