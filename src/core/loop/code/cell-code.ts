// Tool phase: the code of a cell.

import type { ContentItem, ToolCall } from '../../domain/content/content.ts';

/** Returns the code of a cell: the argument of the call. */
export function cellCode(_content: readonly ContentItem[], { arguments: { code } }: ToolCall): string {
  return typeof code === 'string' ? code : '';
}
