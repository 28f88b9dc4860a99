import type { ContentItem, ToolCall } from '../content/content.ts';
import { outputText } from '../content/output-text.ts';
import { fencedBlock } from './fenced-block.ts';

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
