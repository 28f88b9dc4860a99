import type { z } from 'zod';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { RunContext } from './run-context.ts';

/** What a tool returns when it says more than a value: several blocks, or a failure that it has noticed itself. Made by `toolOutput`. */
export interface ToolOutput {
  readonly kind: 'longhaul.tool_output';
  readonly content: JsonValue[];
  readonly isError: boolean;
}

/** A tool as `defineTool` returns it: checked, with its schemas converted. */
export interface ToolDefinition {
  readonly kind: 'longhaul.tool';
  readonly name: string;
  readonly description: string;
  /** The full zod schema: applied to the arguments by the tool's activity before it acts. */
  readonly parameters: z.ZodType;
  /** The zod schema of what `execute` returns, where the tool declares one. */
  readonly result?: z.ZodType;
  /** JSON Schema of the parameters: what arguments are checked against before the activity. */
  readonly schema: JsonObject;
  /** What the provider is sent. */
  readonly providerSchema: JsonObject;
  /** `providerSchema` is in the provider's strict subset. */
  readonly strict: boolean;
  readonly parallel: boolean;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** Any JSON value, nothing, or a `ToolOutput`. Throwing gives the model an error result. */
  execute(args: never, context: RunContext<never>): unknown;
}
