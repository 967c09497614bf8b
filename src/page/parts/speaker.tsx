import type { JSX } from 'preact';
import { useModel } from '../live/use-live.ts';
import { Icon } from './icons.tsx';

/** Who speaks: the one who reads this page, another person, or an agent. */
export type Kind = 'me' | 'person' | 'agent';

/**
 * Tells speakers apart, as far as this machine knows: agents are the actors of any host, and whoever
 * wrote through a host's dispatcher.
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
