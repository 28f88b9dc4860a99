import type { ContentItem, ToolCall } from '../content/content.ts';
import { outputText } from '../content/output-text.ts';

/**
 * Returns the code of a cell: the argument `code` of its call, or else the first fenced block of the text beside the call.
 * `content` is that of the event of the call. Undefined if there is neither, or if the block is blank.
 */
export function cellCode(content: readonly ContentItem[], { arguments: args }: Pick<ToolCall, 'arguments'>): string | undefined {
  const code = Object.hasOwn(args, 'code') ? args['code'] : undefined;
  if (typeof code === 'string') return code;
  const texts = content.flatMap((item) => (item.type === 'message' ? [outputText(item.content)] : []));
  const block = fencedBlock(texts.join('\n'));
  return block === '' ? undefined : block;
}

/** The names of languages that a fence may begin with on the line of its code. */
const LANGUAGES = new Set(['python', 'python3', 'py', 'javascript', 'js', 'node', 'mjs', 'typescript', 'ts', 'jsx', 'tsx']);

/**
 * Returns the code of the first fenced block of a text, without the language that the fence may name and without the indentation
 * that all lines share: an empty text for a blank block. Undefined if there is no block, or if it has no end.
 */
export function fencedBlock(text: string): string | undefined {
  const [fence] = /`{3,}/.exec(text) ?? [];
  if (fence === undefined) return undefined;
  const start = text.indexOf(fence) + fence.length;
  const end = text.indexOf(fence, start);
  if (end < 0) return undefined;
  return dedent(withoutLanguage(text.slice(start, end).replaceAll('\r\n', '\n'))).trim();
}

function withoutLanguage(block: string): string {
  const lineEnd = block.indexOf('\n');
  const firstLine = lineEnd < 0 ? block : block.slice(0, lineEnd);
  if (lineEnd >= 0 && /^[\w+#.-]*\s*$/.test(firstLine)) return block.slice(lineEnd + 1);
  const [word = ''] = /^\w*/.exec(firstLine) ?? [];
  // On one line with code, only the name of a language is one: `x = 1` begins with a word, too.
  return LANGUAGES.has(word.toLowerCase()) && /^\s/.test(block.slice(word.length)) ? block.slice(word.length).trimStart() : block;
}

/** Removes the blank space that all lines with text begin with. */
function dedent(block: string): string {
  const lines = block.split('\n').map((line) => (line.trim() === '' ? '' : line));
  const margins = lines.filter((line) => line !== '').map((line) => line.slice(0, line.length - line.trimStart().length));
  const shared = margins.reduce((one, other) => one.slice(0, sharedLength(one, other)), margins[0] ?? '');
  return lines.map((line) => line.slice(shared.length)).join('\n');
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
