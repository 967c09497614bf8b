import type { JSX } from 'preact';
import { useModel } from '../live/use-live.ts';

const PATHS = {
  inbox: 'M4 13l3-8h10l3 8v6H4zM4 13h5l1 2h4l1-2h5',
  now: 'M3 12h4l3-8 4 16 3-8h4',
  talk: 'M4 5h16v11H9l-5 4z',
  flow: 'M4 6h9M8 12h12M4 18h6',
  write: 'M4 20l4-1L20 7l-3-3L5 16zM14 7l3 3',
  search: 'M10.5 4a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM15.5 15.5L21 21',
  reply: 'M9 7l-5 5 5 5M4 12h10a6 6 0 016 6',
  thread: 'M6 4v10a3 3 0 003 3h9M6 9h12',
  link: 'M10 14a4 4 0 006 0l3-3a4 4 0 00-6-6l-1 1M14 10a4 4 0 00-6 0l-3 3a4 4 0 006 6l1-1',
  verified: 'M5 12.5l4.5 4.5L19 7.5',
  unverified: 'M12 4.5L21 19.5H3zM12 10v4.5M12 17v.5',
  person: 'M12 4a4 4 0 100 8 4 4 0 000-8zM4.5 20a7.5 7.5 0 0115 0',
  me: 'M12 4a4 4 0 100 8 4 4 0 000-8zM4.5 20a7.5 7.5 0 0115 0z',
  agent: 'M6 9h12v10H6zM12 9V5M9.5 13v2M14.5 13v2M3 12v4M21 12v4',
} as const;

/** A small picture beside words, which adds no information. */
export function Icon({ name }: { name: keyof typeof PATHS }): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

/** Kind of a speaker: the reader of this page, another person, or an agent. */
export type Kind = 'me' | 'person' | 'agent';

/**
 * Distinguishes speakers, as far as this machine knows: agents are the actors of any host, and anybody who wrote
 * through a host's dispatcher.
 *
 * @returns takes a sender, and the host that wrote the message, if that is known
 */
export function useKinds(): (name: string, host?: string | null) => Kind {
  const { session, now } = useModel();
  return (name, host = null) => {
    if (host !== null || now?.actors.some((actor) => actor.name === name) === true) return 'agent';
    return name === session?.from ? 'me' : 'person';
  };
}

const WORDS: Record<Kind, string> = { me: ' (you)', person: '', agent: ' (agent)' };

/** The name of a speaker, with a sign and words for what they are. */
export function Speaker({ name, kind }: { name: string; kind: Kind }): JSX.Element {
  return (
    <span class={`speaker ${kind}`}>
      <Icon name={kind} />
      <bdi class="who">{name}</bdi>
      <span class={kind === 'me' ? 'dim' : 'aside'}>{WORDS[kind]}</span>
    </span>
  );
}

/**
 * Whether the writer of a message has signed it, in a picture and in words; nothing where no key of that
 * name is pinned on this machine.
 */
export function Verified({ verified }: { verified: boolean | undefined }): JSX.Element | null {
  if (verified === undefined) return null;
  const word = verified ? 'verified' : 'unverified';
  const title = verified
    ? 'Signed with a key of this name that is pinned on this machine'
    : 'Not signed with a key of this name that is pinned on this machine: it may be from anybody';
  return (
    <span class={`signed ${word}`} title={title}>
      {' '}
      <Icon name={word} />
      {verified ? <span class="aside">{word}</span> : word}
    </span>
  );
}
