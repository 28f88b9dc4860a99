import type { JsonValue } from '../core/domain/json/json.ts';
import { parseJsonText } from './parse-json-text.ts';

/** The longest text that is searched, in characters. */
const MAX_SEARCHED_LENGTH = 200_000;

/** Places at which something begins like JSON and is none, after which the search ends: each may take as long as the text. */
const MAX_FAILURES = 100;

const FENCE = '```';

/**
 * Returns the JSON values in a text, in their order: the whole text or the content of its only code fence; otherwise each list and object
 * in it that is not part of another one. Nothing is repaired.
 */
export function jsonValuesIn(text: string): JsonValue[] {
  if (text.length > MAX_SEARCHED_LENGTH) return [];
  for (const whole of [text, onlyFence(text)]) {
    const parsed = whole === undefined ? undefined : parseJsonText(whole, false);
    if (parsed?.ok) return [parsed.value];
  }
  const values: JsonValue[] = [];
  let failures = 0;
  for (let at = nextOpening(text, 0); at >= 0 && failures < MAX_FAILURES; at = nextOpening(text, at)) {
    const end = endOfNested(text, at);
    const parsed = end === undefined ? undefined : parseJsonText(text.slice(at, end), false);
    if (end !== undefined && parsed?.ok) {
      values.push(parsed.value);
      at = end;
    } else {
      failures += 1;
      at += 1;
    }
  }
  // What was not searched may hold another value.
  return failures < MAX_FAILURES ? values : [];
}

/** Returns the content of a text that is one code fence and nothing else, without the language that it names. */
function onlyFence(text: string): string | undefined {
  const bare = text.trim();
  const line = bare.indexOf('\n');
  if (!bare.startsWith(FENCE) || line < 0 || bare.indexOf(FENCE, FENCE.length) !== bare.length - FENCE.length) return undefined;
  return bare.slice(line + 1, -FENCE.length);
}

function nextOpening(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) if (text[at] === '{' || text[at] === '[') return at;
  return -1;
}

/** Returns the place after the list or object that begins at `from`; undefined if it does not end. */
function endOfNested(text: string, from: number): number | undefined {
  let depth = 0;
  let isInText = false;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (isInText) {
      if (character === '\\') at += 1;
      else if (character === '"') isInText = false;
    } else if (character === '"') isInText = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}
