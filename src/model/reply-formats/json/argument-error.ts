import type { ToolResult } from '../../../core/domain/content/content.ts';

/** True for the result of a call that was refused because of its arguments, before its tool did anything. */
export function isArgumentError({ name, status, content: [text] }: ToolResult): boolean {
  if (status !== 'error' || typeof text !== 'string') return false;
  return text.startsWith(`Invalid arguments for '${name}': `) || text.startsWith('Error: tool arguments were not valid JSON.');
}
