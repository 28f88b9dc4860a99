import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hasHidden } from './marks.ts';
import { asWritten, kindOf, type Schema } from './schema.ts';
import { jsonText, Line, Name } from './text.tsx';
import { TEXTS } from './texts.ts';

// A form for a value by its JSON Schema: strings, numbers, booleans, enums, lists and objects; anything else is edited as JSON.

interface FieldOptions {
  name: string;
  schema: Schema;
  value: unknown;
  required: boolean;
  onChange: (value: unknown) => void;
}

/** Edits the members of an object. Those that the schema does not name are edited as JSON. */
export function ObjectForm({ schema, value, onChange }: Pick<FieldOptions, 'schema' | 'onChange'> & { value: object }): JSX.Element {
  const members = value as Record<string, unknown>;
  const { properties = {}, required = [] } = schema;
  // A field that its reader empties stays: with it, the focus would go from the form.
  const names = useRef(new Set<string>()).current;
  for (const name of [...Object.keys(properties), ...Object.keys(members)]) names.add(name);
  const change = (name: string, one: unknown): void => {
    const { [name]: _, ...others } = members;
    onChange(one === undefined ? others : { ...members, [name]: one });
  };
  return (
    <>
      {[...names].map((name) => (
        <Field
          key={name}
          name={name}
          schema={properties[name] ?? {}}
          value={members[name]}
          required={required.includes(name)}
          onChange={(one) => change(name, one)}
        />
      ))}
    </>
  );
}

/**
 * A field for a value by its schema. Its kind never changes, whatever is written into it: replacing the field would take the focus from
 * who writes, and what they write next would be keys of the page.
 */
export function Field(options: FieldOptions): JSX.Element {
  const { name, schema, value, onChange } = options;
  const [kind] = useState(() => {
    const first = kindOf(schema, value);
    // What was written as JSON before is a form from now on.
    if (first !== 'json' && typeof value === 'object' && value !== null) asWritten.delete(value);
    return first;
  });
  switch (kind) {
    case 'text':
      return <TextField {...options} />;
    case 'number':
      return <NumberField {...options} />;
    case 'flag':
      return (
        <label class="check">
          <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
          <Title {...options} />
        </label>
      );
    case 'choice':
      return (
        <label>
          <Title {...options} />
          <select value={typeof value === 'string' ? value : ''} onChange={(event) => onChange(event.currentTarget.value || undefined)}>
            {value === undefined && <option value="">{TEXTS.notSet}</option>}
            {schema.enum?.map((one) => (
              <option key={String(one)}>{String(one)}</option>
            ))}
          </select>
        </label>
      );
    case 'list':
      return <ListField {...options} value={(value as unknown[] | undefined) ?? []} />;
    case 'object':
      return (
        <fieldset>
          <legend>
            <Name of={name} />
          </legend>
          <ObjectForm schema={schema} value={(value as object | undefined) ?? {}} onChange={onChange} />
        </fieldset>
      );
    case 'json':
      return <JsonField {...options} />;
  }
}

function Title({ name, required, schema: { description } }: FieldOptions): JSX.Element {
  return (
    <span>
      <Name of={name} />
      {required && ' *'}
      {description !== undefined && (
        <small class="dim">
          {' '}
          <Line of={description} />
        </small>
      )}
    </span>
  );
}

/** Shows the hidden characters of what a field has: a field itself cannot show them. */
function Hidden({ text }: { text: string }): JSX.Element | null {
  if (!hasHidden(text)) return null;
  return (
    <span class="note warn">
      {TEXTS.hiddenInField} <Line of={text} limit={2_000} />
    </span>
  );
}

function TextField(options: FieldOptions): JSX.Element {
  const { value, onChange } = options;
  const text = (value as string | undefined) ?? '';
  const [isLong] = useState(text.length > 60 || text.includes('\n'));
  const change = (event: { currentTarget: { value: string } }): void => onChange(event.currentTarget.value);
  return (
    <label>
      <Title {...options} />
      {isLong ? (
        <textarea rows={Math.min(12, text.split('\n').length + 2)} value={text} onInput={change} />
      ) : (
        <input type="text" value={text} onInput={change} />
      )}
      <Hidden text={text} />
    </label>
  );
}

function NumberField(options: FieldOptions): JSX.Element {
  const { schema, value, onChange } = options;
  return (
    <label>
      <Title {...options} />
      <input
        type="number"
        step={schema.type === 'integer' ? 1 : 'any'}
        min={schema.minimum}
        max={schema.maximum}
        value={(value as number | undefined) ?? ''}
        onInput={({ currentTarget: { value: text, valueAsNumber } }) => onChange(text === '' ? undefined : valueAsNumber)}
      />
    </label>
  );
}

function ListField({ name, schema, value, onChange }: FieldOptions & { value: readonly unknown[] }): JSX.Element {
  const items = schema.items ?? {};
  const fresh: Partial<Record<string, unknown>> = { string: '', number: 0, integer: 0, boolean: false, object: {}, array: [] };
  const keys = useKeysOfItems(value.length);
  return (
    <fieldset>
      <legend>
        <Name of={name} />
      </legend>
      {value.map((one, index) => (
        <div key={keys.of(index)} class="item">
          <Field
            name={`${index + 1}`}
            schema={items}
            value={one}
            required={false}
            onChange={(changed) => onChange(value.map((before, place) => (place === index ? changed : before)))}
          />
          <button
            type="button"
            aria-label={TEXTS.removeItem(`${name} ${index + 1}`)}
            onClick={() => {
              keys.remove(index);
              onChange(value.toSpliced(index, 1));
            }}
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" onClick={() => onChange([...value, fresh[String(items.type)] ?? null])}>
        {TEXTS.addItem}
      </button>
    </fieldset>
  );
}

/** Returns a key for each item of a list. A field remembers what was written into it: once one is removed, those behind it keep what they show. */
function useKeysOfItems(length: number): { of: (index: number) => number; remove: (index: number) => void } {
  const keys = useRef<number[]>([]);
  const made = useRef(0);
  while (keys.current.length < length) keys.current.push((made.current += 1));
  return { of: (index) => keys.current[index] ?? -1, remove: (index) => void keys.current.splice(index, 1) };
}

/** True if what all fields of a part show is what was taken over; otherwise the browser says which one is not. */
export function isSound(part: HTMLElement | null): boolean {
  const fields = part?.querySelectorAll<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>('input, textarea, select') ?? [];
  return [...fields].every((field) => field.reportValidity());
}

/** Edits a value as JSON. Invalid JSON is not applied, and keeps the form from being sent. */
export function JsonField(options: FieldOptions): JSX.Element {
  const { value, onChange } = options;
  const [text, setText] = useState(value === undefined ? '' : jsonText(value));
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.setCustomValidity(problem), [problem]);
  const change = (written: string): void => {
    setText(written);
    try {
      const read = written.trim() === '' ? undefined : (JSON.parse(written) as unknown);
      if (typeof read === 'object' && read !== null) asWritten.add(read);
      onChange(read);
      setProblem('');
    } catch (error) {
      setProblem(TEXTS.invalidJson(error instanceof Error ? error.message : String(error)));
    }
  };
  return (
    <label>
      <Title {...options} /> <small>{TEXTS.asJson}</small>
      <textarea
        ref={field}
        class="code"
        rows={Math.min(14, text.split('\n').length + 1)}
        spellcheck={false}
        value={text}
        aria-invalid={problem !== ''}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {problem !== '' && <span class="note bad">{problem}</span>}
      <Hidden text={text} />
    </label>
  );
}
