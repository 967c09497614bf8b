import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { sizeInWords } from '../../protocol/attached.ts';

interface Props {
  value: string;
  onChange: (schema: string) => void;
  readOnly: boolean;
}

/** Bytes of a file that is read: far more than a schema may have, and little for a browser to keep. */
const MOST_BYTES = 256 * 1024;

/** The form of the answer, as a JSON Schema: typed, or read from a file that is chosen or dropped. */
export function SchemaField({ value, onChange, readOnly }: Props): JSX.Element {
  const id = useId();
  const [said, setSaid] = useState('');
  const read = async (file: File | undefined): Promise<void> => {
    if (file === undefined || readOnly) return;
    if (file.size > MOST_BYTES) {
      setSaid(`Not read: ${file.name} has ${sizeInWords(file.size)}, too much for a schema.`);
      return;
    }
    try {
      onChange(await file.text());
      setSaid(`Read from ${file.name}.`);
    } catch {
      setSaid(`Not read: ${file.name} cannot be read.`);
    }
  };
  return (
    <div
      class="schema"
      onDrop={(event) => {
        const { files } = event.dataTransfer ?? {};
        if (files === undefined || files.length === 0) return;
        event.preventDefault();
        // Dropped elsewhere on the form, a file is attached.
        event.stopPropagation();
        void read(files[0]);
      }}
    >
      <label for={id}>JSON Schema of the answer</label>
      <textarea
        id={id}
        rows={4}
        class="mono"
        value={value}
        readOnly={readOnly}
        spellcheck={false}
        autocapitalize="none"
        placeholder='{"type": "object"}'
        aria-describedby={`${id}-hint`}
        onInput={(event) => {
          setSaid('');
          onChange(event.currentTarget.value);
        }}
      />
      <p class="dim" id={`${id}-hint`}>
        The answer will be JSON that fits it. A file may be dropped here.
      </p>
      <input
        id={`${id}-file`}
        type="file"
        accept=".json,application/json"
        class="aside"
        disabled={readOnly}
        onChange={({ currentTarget }) => {
          void read(currentTarget.files?.[0]).then(() => {
            currentTarget.value = '';
          });
        }}
      />
      <label for={`${id}-file`} class="button">
        Read it from a file
      </label>
      <p class="dim said" role="status">
        {said}
      </p>
    </div>
  );
}
