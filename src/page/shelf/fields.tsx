import type { JSX } from 'preact';
import { useId } from 'preact/hooks';

/** A field for words to search for. */
export function Field(props: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}): JSX.Element {
  const { label, value, onChange } = props;
  const id = useId();
  return (
    <div>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        dir="auto"
        autocomplete="off"
        value={value}
        onInput={({ currentTarget }) => {
          onChange(currentTarget.value);
        }}
      />
    </div>
  );
}

/** A choice among some values, each with its words. What was chosen by the address is one of them in any case. */
export function Choice(props: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, words: string])[];
  onChange: (value: string) => void;
}): JSX.Element {
  const { label, value, options, onChange } = props;
  const id = useId();
  const isKnown = options.some(([one]) => one === value);
  return (
    <div>
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => {
          onChange(currentTarget.value);
        }}
      >
        {options.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
        {!isKnown && <option value={value}>{value.slice(0, 100)}</option>}
      </select>
    </div>
  );
}
