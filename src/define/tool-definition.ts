import type { z } from 'zod';
import type { JsonObject } from '../core/domain/json/json.ts';
import type { ToolPolicy } from '../core/domain/agent/tool-policy.ts';
import type { ToolApproval } from './options/approval-options.ts';
import type { Overflow } from './options/result-budget.ts';
import type { Resources, RunContext } from './run-context.ts';
import type { RetryOn, Verify } from './options/tool-policy-options.ts';

/**
 * A tool as `defineTool` returns it: checked, with its schemas converted. The type parameters are what `execute`
 * takes and gives; without them it is a tool that fits every agent, because it needs no deps of its own.
 */
export interface ToolDefinition<Args = never, Deps = Record<string, unknown>, Result = unknown, Needed = Resources> {
  readonly kind: 'longhaul.tool';
  readonly name: string;
  readonly description: string;
  /** The text that the summaries of its calls begin with. Absent: they begin with the arguments. */
  readonly label?: string;
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
  /** Why it is not, where it is not. */
  readonly strictProblem?: string;
  readonly parallel: boolean;
  /** How its calls run and are tried again. */
  readonly policy: ToolPolicy;
  /** Looks up what became of a call. */
  readonly verify?: Verify<Deps, Needed>;
  readonly retryOn: RetryOn;
  /** Results may change the deps under a key of their own. */
  readonly legacyUpdates?: true;
  /** The names of the worker's resources that it uses. Absent: whatever is open. */
  readonly resources?: readonly string[];
  /** Bytes of JSON that one result may have in the conversation. */
  readonly maxResultBytes: number;
  readonly overflow: Overflow;
  /** When its calls wait for a decision. Absent: never. */
  readonly approval?: ToolApproval<Args, Deps, Needed>;
  /** The tool is a question to a person (`askHuman`), whose answer must fit this JSON Schema: it never runs. */
  readonly answer?: JsonObject;
  /** Any JSON value, nothing, a `ToolOutput`, or one of them with an update of the deps. Throwing gives the model an error result in the end. */
  readonly execute: (args: Args, context: RunContext<Deps, Needed>) => Result;
}

/** A tool whatever deps and resources it needs, as registries hold it. */
export type AnyTool = ToolDefinition<never, never, unknown, never>;
