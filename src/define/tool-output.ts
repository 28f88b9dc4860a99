import type { ContentPart } from '../core/domain/content/content.ts';
import type { JsonValue } from '../core/domain/json/json.ts';

/** What a tool returns when it says more than a value: several blocks, or a failure that it has noticed itself. Made by `toolOutput`. */
export interface ToolOutput {
  readonly kind: 'longhaul.tool_output';
  readonly content: readonly (JsonValue | ContentPart)[];
  readonly isError: boolean;
}

/**
 * A tool's result in several blocks: texts (joined by line breaks), media parts, any JSON values. With
 * `{isError: true}` the model reads it as a failure, without an exception (seed 001).
 */
export function toolOutput(content: string | readonly (JsonValue | ContentPart)[], options: { isError?: boolean } = {}): ToolOutput {
  return { kind: 'longhaul.tool_output', content: typeof content === 'string' ? [content] : content, isError: options.isError === true };
}

/** True for what `toolOutput` made, by whichever copy of this package. */
export function isToolOutput(value: unknown): value is ToolOutput {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'longhaul.tool_output';
}
