import { jsonEscaped, secretEncodings } from './secret-encodings.ts';

/** How many values of one secret are remembered: old ones turn up for as long as somebody still uses them. */
const REMEMBERED_VALUES = 20;

/** A form of a secret, found in a text. */
interface Occurrence {
  start: number;
  end: number;
  name: string;
}

/** A text to look for, and the secret whose trace it would be. */
interface Form {
  text: string;
  /** As it stands in JSON text. */
  escaped: string;
  name: string;
}

/** The values of secrets that a worker has seen, in all their forms, and their names to put in their place. */
export class SecretRedactor {
  readonly #values = new Map<string, string[]>();
  #forms: Form[] = [];
  #markers = new Map<string, string>();

  /** True as long as there is nothing to look for. */
  get isEmpty(): boolean {
    return this.#forms.length === 0;
  }

  /** From now on this value of the secret is found, beside the 19 that came before it. */
  add(name: string, value: string): void {
    const known = this.#values.get(name) ?? [];
    if (known[0] === value) return;
    this.#values.set(name, [value, ...known.filter((one) => one !== value)].slice(0, REMEMBERED_VALUES));
    const forms = [...this.#values].flatMap(([owner, values]) =>
      values.flatMap((one) => secretEncodings(one).map((text) => ({ text, escaped: jsonEscaped(text), name: owner }))),
    );
    this.#forms = [...new Map(forms.map((form) => [form.text, form])).values()];
    this.#markers = new Map([...this.#values.keys()].map((owner) => [owner, this.#marker(owner)]));
  }

  /** True where the text has a trace of a secret. */
  isIn(text: string): boolean {
    return this.#forms.some((form) => text.includes(form.text));
  }

  /** True where the text is a form of a secret, and nothing else. */
  isWhole(text: string): boolean {
    return this.#forms.some((form) => text === form.text);
  }

  /** False where a value with this JSON text has no trace of a secret in any text or key. */
  mayBeInJson(json: string): boolean {
    return this.#forms.some((form) => json.includes(form.escaped));
  }

  /** The text with `[secret "name"]` in the place of every trace. */
  redact(text: string): string {
    let clean = text;
    // What stands around a marker can make a trace together with it. Without markers the text gets shorter each time.
    for (let round = 0; ; round += 1) {
      const found = merged(this.#occurrences(clean));
      if (found.length === 0) return clean;
      clean = replaced(clean, found, (name) => (round === 0 ? (this.#markers.get(name) ?? '') : ''));
    }
  }

  #occurrences(text: string): Occurrence[] {
    return this.#forms.flatMap(({ text: form, name }) => {
      const found: Occurrence[] = [];
      for (let start = text.indexOf(form); start >= 0; start = text.indexOf(form, start + 1)) {
        found.push({ start, end: start + form.length, name });
      }
      return found;
    });
  }

  /** What stands for a secret: something that has no trace of one, as it would where a secret is its own name. */
  #marker(name: string): string {
    return [`[secret "${name}"]`, '[secret]'].find((marker) => !this.isIn(marker)) ?? '';
  }
}

/** Occurrences that overlap as one, named after its longest. */
function merged(found: readonly Occurrence[]): Occurrence[] {
  const spans: (Occurrence & { longest: number })[] = [];
  for (const one of found.toSorted((first, second) => first.start - second.start)) {
    const last = spans.at(-1);
    const length = one.end - one.start;
    if (last === undefined || one.start >= last.end) {
      spans.push({ ...one, longest: length });
      continue;
    }
    last.end = Math.max(last.end, one.end);
    if (length > last.longest) Object.assign(last, { longest: length, name: one.name });
  }
  return spans;
}

function replaced(text: string, spans: readonly Occurrence[], markerOf: (name: string) => string): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, name } of spans) {
    parts.push(text.slice(at, start), markerOf(name));
    at = end;
  }
  return [...parts, text.slice(at)].join('');
}
