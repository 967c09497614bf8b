import type { JSX } from 'preact';
import type { StateUpdater } from 'preact/hooks';
import { useId, useState } from 'preact/hooks';
import type { WebFile, WebUpload } from '../../api/api.ts';
import { sizeInWords } from '../../protocol/attached.ts';
import { post, wordsOf } from '../live/api.ts';

/** Milliseconds for one file, which may go through a slow tunnel. */
const UPLOAD_LIMIT_MS = 600_000;

/** The files of a message that is being written, and how more are added. */
export interface Attaching {
  files: WebFile[];
  /** What is under way, or why a file was not taken. */
  said: string;
  isBusy: boolean;
  add: (files: readonly File[]) => void;
  remove: (file: WebFile) => void;
  clear: () => void;
}

/** Keeps files at the server, one after the other, until they are sent. */
export function useAttaching(): Attaching {
  const [files, setFiles] = useState<WebFile[]>([]);
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState(0);
  const add = (chosen: readonly File[]): void => {
    if (chosen.length === 0) return;
    setBusy((count) => count + 1);
    void keep(chosen, setFiles, setSaid).finally(() => {
      setBusy((count) => count - 1);
    });
  };
  return {
    files,
    said,
    isBusy: busy > 0,
    add,
    remove: (file) => {
      setFiles((all) => all.filter((one) => one !== file));
    },
    clear: () => {
      setFiles([]);
      setSaid('');
    },
  };
}

async function keep(
  chosen: readonly File[],
  setFiles: (change: StateUpdater<WebFile[]>) => void,
  say: (words: string) => void,
): Promise<void> {
  for (const file of chosen) {
    say(`Attaching ${file.name}…`);
    try {
      const upload: WebUpload = { name: file.name, base64: await base64Of(file) };
      const kept = await post<WebFile>('files', upload, {}, UPLOAD_LIMIT_MS);
      setFiles((all) => [...all, kept]);
      say('');
    } catch (error) {
      say(`Not attached: ${file.name}: ${wordsOf(error)}`);
      return;
    }
  }
}

/** A folder that was dropped cannot be read as a file. */
function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const address = typeof reader.result === 'string' ? reader.result : '';
      resolve(address.slice(address.indexOf(',') + 1));
    };
    reader.onerror = () => {
      reject(new Error('it cannot be read; a folder has to be packed first'));
    };
    reader.readAsDataURL(file);
  });
}

/** The files that a message is going to bring along; each can be taken away again. */
export function AttachedFiles({
  attaching,
  disabled,
}: {
  attaching: Attaching;
  disabled: boolean;
}): JSX.Element {
  const id = useId();
  const { files, said, add, remove } = attaching;
  return (
    <div class="attached">
      <input
        id={id}
        type="file"
        multiple
        class="aside"
        disabled={disabled}
        onChange={({ currentTarget }) => {
          add([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      <label for={id} class="button">
        Attach files
      </label>
      {files.length > 0 && (
        <ul class="files" aria-label="Files to send">
          {files.map((file, at) => (
            <li key={at}>
              <bdi>{file.name}</bdi> <span class="dim">{sizeInWords(file.bytes)}</span>{' '}
              <button
                type="button"
                disabled={disabled}
                aria-label={`Do not attach ${file.name}`}
                onClick={() => {
                  remove(file);
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <p class="dim said" role="status">
        {said}
      </p>
    </div>
  );
}
