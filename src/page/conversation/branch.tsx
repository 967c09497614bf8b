import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { WebBranchDiff, WebMessage } from '../../api/api.ts';
import { messageKey } from '../../protocol/message-ref.ts';
import { branchInWords } from '../../protocol/text/branch.ts';
import { get, wordsOf } from '../live/api.ts';
import { useModel } from '../live/use-live.ts';
import { Problem } from '../parts/view.tsx';

/** The branch that an answer tells of, and what it changed once somebody wants to see that. */
export function MessageBranch({ message }: { message: WebMessage }): JSX.Element | null {
  const { branch } = message;
  const { session } = useModel();
  const [shown, setShown] = useState(false);
  const [diff, setDiff] = useState<WebBranchDiff | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const id = useId();
  if (branch === undefined) return null;
  const toggle = (): void => {
    setShown(!shown);
    if (shown || diff !== undefined) return;
    setProblem(undefined);
    get<WebBranchDiff>('branch', { ref: messageKey(message) }).then(setDiff, (error: unknown) => {
      setProblem(wordsOf(error));
    });
  };
  return (
    <div class="branch">
      <p>
        <span class="dim">branch</span> <bdi>{branchInWords(branch)}</bdi>{' '}
        {session?.read_only === false && (
          <button type="button" aria-expanded={shown} aria-controls={id} onClick={toggle}>
            {shown ? 'Hide the changes' : 'Show the changes'}
          </button>
        )}
      </p>
      <div id={id} aria-live="polite">
        {shown && <Problem words={problem} />}
        {shown && problem === undefined && diff === undefined && <p class="dim">Loading…</p>}
        {shown && diff !== undefined && <Changes diff={diff} />}
      </div>
    </div>
  );
}

function Changes({ diff: { name, place, patch, cut } }: { diff: WebBranchDiff }): JSX.Element {
  return (
    <>
      <p class="dim">
        in <bdi>{place}</bdi>
      </p>
      {patch === '' ? (
        <p class="dim">It changes nothing.</p>
      ) : (
        <pre
          class="patch"
          role="region"
          aria-live="off"
          tabIndex={0}
          aria-label={`Changes of ${name}`}
        >
          {patch
            .replace(/\n$/, '')
            .split('\n')
            .map((line, at) => (
              <span key={at} class={kindOf(line)}>
                {line}
                {'\n'}
              </span>
            ))}
        </pre>
      )}
      {cut && (
        <p class="dim">
          The rest is left out; all of it is shown by git in the repository, or by crosstalk
          worktree diff.
        </p>
      )}
    </>
  );
}

/** Only the colour depends on it: each line keeps its sign. */
function kindOf(line: string): string | undefined {
  if (line.startsWith('+') && !line.startsWith('+++ ')) return 'added';
  if (line.startsWith('-') && !line.startsWith('--- ')) return 'removed';
  return /^(?:diff |@@ |\+\+\+ |--- |index )/.test(line) ? 'dim' : undefined;
}
