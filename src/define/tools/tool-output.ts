import type { ContentPart } from '../../core/domain/content.ts';
import type { JsonValue } from '../../core/domain/json.ts';

/** The return value of a tool with several blocks, or with a failure that the tool has noticed itself. Made by `toolOutput`. */
export interface ToolOutput {
  readonly kind: 'longhaul.tool_output';
  readonly content: readonly (JsonValue | ContentPart)[];
  readonly isError: boolean;
}

/**
 * Returns a tool's result in several blocks: texts (joined by line breaks), media parts, any JSON values. With
 * `{isError: true}` the model reads it as a failure, without an exception.
 */
export function toolOutput(content: string | readonly (JsonValue | ContentPart)[], options: { isError?: boolean } = {}): ToolOutput {
  return { kind: 'longhaul.tool_output', content: typeof content === 'string' ? [content] : content, isError: options.isError === true };
}

/** True for a value made by `toolOutput`, of any copy of this package. */
export function isToolOutput(value: unknown): value is ToolOutput {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'longhaul.tool_output';
}
