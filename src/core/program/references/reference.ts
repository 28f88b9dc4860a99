/** A reference to a value: the names and indexes that lead to it. */
export interface Reference {
  /** The text as the document has it, such as `{{ Step.output.items[0] }}`. */
  written: string;
  /** The names and list indexes: `['Step', 'output', 'items', 0]`. The first one is a name. */
  path: readonly [string, ...(string | number)[]];
}

/** The most characters of a reference between its braces. */
const MAX_LENGTH = 500;

/** A name in a reference: any text without the characters that separate names. */
const NAME = /[^.[\]{}"\p{Cc}]+/uy;

/** `.name`, `[0]`, or `["name"]` for a key that has other characters than a name. */
const SEGMENT = /\.([^.[\]{}"\p{Cc}]+)|\[(\d{1,9})\]|\[("(?:[^"\\\p{Cc}]|\\[^\p{Cc}])*")\]/uy;

/** Reads a text that is one reference, with or without braces. Returns undefined for any other text. */
export function readReference(text: string): Reference | undefined {
  const written = text.trim();
  if (written.startsWith('{{')) return referenceAt(written, 0)?.written === written ? referenceAt(written, 0) : undefined;
  const path = pathOf(written);
  return path === undefined ? undefined : { written, path };
}

/** Reads the reference whose braces open at `start`; undefined if there is none. */
export function referenceAt(text: string, start: number): Reference | undefined {
  const end = closingBraces(text, start);
  if (end === undefined) return undefined;
  const path = pathOf(text.slice(start + 2, end).trim());
  return path === undefined ? undefined : { written: text.slice(start, end + 2), path };
}

/** True for a text that a reference can have as a name. */
export function isReferenceName(text: string): boolean {
  NAME.lastIndex = 0;
  return text === text.trim() && NAME.exec(text)?.[0] === text;
}

/** Finds the braces that close a reference. The search ends at the next brace outside of quotes, so that reading all references of a text is linear. */
function closingBraces(text: string, start: number): number | undefined {
  if (!text.startsWith('{{', start)) return undefined;
  let isQuoted = false;
  for (let index = start + 2; index <= start + 2 + MAX_LENGTH && index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted && character === '\\') index += 1;
    else if (!isQuoted && character === '{') return undefined;
    else if (!isQuoted && character === '}') return text[index + 1] === '}' ? index : undefined;
  }
  return undefined;
}

function pathOf(body: string): Reference['path'] | undefined {
  if (body.length > MAX_LENGTH) return undefined;
  NAME.lastIndex = 0;
  const first = NAME.exec(body)?.[0];
  if (first === undefined || first !== first.trim()) return undefined;
  const path: [string, ...(string | number)[]] = [first];
  for (let index = first.length; index < body.length; index = SEGMENT.lastIndex) {
    SEGMENT.lastIndex = index;
    const segment = segmentOf(SEGMENT.exec(body));
    if (segment === undefined) return undefined;
    path.push(segment);
  }
  return path;
}

function segmentOf(match: RegExpExecArray | null): string | number | undefined {
  const [, name, index, quoted] = match ?? [];
  if (name !== undefined) return name === name.trim() ? name : undefined;
  if (index !== undefined) return Number(index);
  return quoted === undefined ? undefined : unquoted(quoted);
}

function unquoted(json: string): string | undefined {
  try {
    return String(JSON.parse(json));
  } catch {
    return undefined;
  }
}
