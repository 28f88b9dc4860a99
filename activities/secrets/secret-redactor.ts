import { jsonEscaped, secretEncodings } from './secret-encodings.ts';

/** The number of values that are remembered for each secret: old values appear as long as a client still uses them. */
const REMEMBERED_VALUES = 20;

/** An encoding of a secret, found in a text. */
interface Occurrence {
  start: number;
  end: number;
  name: string;
}

/** A text to search for, and the secret that it reveals. */
interface EncodedSecret {
  text: string;
  /** The text as it appears in JSON. */
  escaped: string;
  name: string;
}

/** Finds the secrets that a worker has read, in all their encodings, and replaces them by their names. */
export class SecretRedactor {
  readonly #values = new Map<string, string[]>();
  #encoded: EncodedSecret[] = [];
  #markers = new Map<string, string>();

  /** True if there is nothing to search for. */
  get isEmpty(): boolean {
    return this.#encoded.length === 0;
  }

  /** Adds a value of the secret, beside the 19 before it. */
  add(name: string, value: string): void {
    const known = this.#values.get(name) ?? [];
    if (known[0] === value) return;
    this.#values.set(name, [value, ...known.filter((one) => one !== value)].slice(0, REMEMBERED_VALUES));
    const encoded = [...this.#values].flatMap(([owner, values]) =>
      values.flatMap((one) => secretEncodings(one).map((text) => ({ text, escaped: jsonEscaped(text), name: owner }))),
    );
    this.#encoded = [...new Map(encoded.map((one) => [one.text, one])).values()];
    this.#markers = new Map([...this.#values.keys()].map((owner) => [owner, this.#marker(owner)]));
  }

  /** True if the text contains a secret. */
  containsSecret(text: string): boolean {
    return this.#encoded.some((one) => text.includes(one.text));
  }

  /** True if the whole text is a secret. */
  isSecret(text: string): boolean {
    return this.#encoded.some((one) => text === one.text);
  }

  /** True if a value with this JSON text may contain a secret in a text or key; false only if it contains none. */
  mayContainSecret(json: string): boolean {
    return this.#encoded.some((one) => json.includes(one.escaped));
  }

  /** Returns the text with `[secret "name"]` for every secret. */
  redact(text: string): string {
    let clean = text;
    // A marker and the text around it can form a secret together. Rounds after the first insert no marker, so the text
    // gets shorter each time and the loop ends.
    for (let round = 0; ; round += 1) {
      const found = merged(this.#occurrences(clean));
      if (found.length === 0) return clean;
      clean = replaced(clean, found, (name) => (round === 0 ? (this.#markers.get(name) ?? '') : ''));
    }
  }

  #occurrences(text: string): Occurrence[] {
    return this.#encoded.flatMap(({ text: encoding, name }) => {
      const found: Occurrence[] = [];
      for (let start = text.indexOf(encoding); start >= 0; start = text.indexOf(encoding, start + 1)) {
        found.push({ start, end: start + encoding.length, name });
      }
      return found;
    });
  }

  /** Returns the replacement of a secret, which must not contain one itself, as it would if a secret is its own name. */
  #marker(name: string): string {
    return [`[secret "${name}"]`, '[secret]'].find((marker) => !this.containsSecret(marker)) ?? '';
  }
}

/** Merges overlapping occurrences into one, named after the longest. */
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
