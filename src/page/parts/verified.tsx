import type { JSX } from 'preact';
import { Icon } from './icons.tsx';

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
