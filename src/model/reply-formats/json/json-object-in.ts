import { isJsonObject, type JsonObject } from '../../../core/domain/json/json.ts';
import { parseJsonText } from '../../parse-json-text.ts';

const FENCE = '```';

/**
 * Returns the JSON object that a text is, or that it has in its first code fence, without what the model wrote in reasoning tags.
 * Undefined if there is none. Takes time in proportion to the text.
 */
export function jsonObjectIn(text: string): JsonObject | undefined {
  const bare = withoutReasoning(text).trim();
  return objectOf(text) ?? objectOf(bare) ?? objectOf(fenced(bare) ?? '');
}

/** Removes each `<think>…</think>`, wherever it is, and tags that stand alone. */
function withoutReasoning(text: string): string {
  const [open, close] = ['<think>', '</think>'];
  let kept = '';
  let from = 0;
  for (;;) {
    const begin = text.indexOf(open, from);
    const end = begin < 0 ? -1 : text.indexOf(close, begin);
    if (end < 0) return (kept + text.slice(from)).replaceAll(open, '').replaceAll(close, '');
    kept += text.slice(from, begin);
    from = end + close.length;
  }
}

/** Never repairs: what is not JSON is sent back, so that no tool gets a value that the model did not write. */
function objectOf(text: string): JsonObject | undefined {
  const parsed = parseJsonText(text, false);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

/** Returns the content of the first code fence, without the language that it may name. */
function fenced(text: string): string | undefined {
  const open = text.indexOf(FENCE);
  const start = open + FENCE.length;
  const close = open < 0 ? -1 : text.indexOf(FENCE, start);
  return close < 0 ? undefined : text.slice(start, close).replace(/^json/i, '').trim();
}
