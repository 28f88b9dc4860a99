import type { z } from 'zod';
import type { ToolCategory } from '../../core/domain/permissions.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import type { ToolCaller, ToolPolicy } from '../../core/domain/agent.ts';
import type { AgentToolDefinition } from '../children/agent-tool-definition.ts';
import type { ToolApproval } from '../options/approval-options.ts';
import type { Overflow } from '../options/result-budget.ts';
import type { Resources, RunContext } from '../context/run-context.ts';
import type { RetryOn, Verify } from '../options/tool-policy-options.ts';

/**
 * A tool as `defineTool` returns it: checked, with its schemas converted. The type parameters are the arguments and the
 * result of `execute`; without them the tool fits every agent, because it needs no deps of its own.
 */
export interface ToolDefinition<Args = never, Deps = Record<string, unknown>, Result = unknown, Needed = Resources> {
  readonly kind: 'longhaul.tool';
  readonly name: string;
  readonly description: string;
  /** The text that the summaries of its calls begin with. Absent: they begin with the arguments. */
  readonly label?: string;
  /** The version that records and lists show. Absent: it has none. */
  readonly version?: string;
  /** The full zod schema: applied to the arguments by the tool's activity before it acts. */
  readonly parameters: z.ZodType;
  /** The zod schema of the value that `execute` returns, if the tool declares one. */
  readonly result?: z.ZodType;
  /** The JSON Schema of the parameters: arguments are checked against it before the activity. */
  readonly schema: JsonObject;
  /** The schema that is sent to the provider. */
  readonly providerSchema: JsonObject;
  /** True if `providerSchema` is in the provider's strict subset. */
  readonly strict: boolean;
  /** The reason why it is not. */
  readonly strictProblem?: string;
  readonly parallel: boolean;
  /** What its calls change of deps and state: true for anything, a list of keys, false for nothing. Absent: not known. */
  readonly updates?: boolean | readonly string[];
  /** The timeouts, retries and bounds of its calls. */
  readonly policy: ToolPolicy;
  /** Looks up the outcome of a call. */
  readonly verify?: Verify<Deps, Needed>;
  readonly retryOn: RetryOn;
  /** True if results may change the deps with a reserved key. */
  readonly legacyUpdates?: true;
  /** The names of the worker's resources that it uses. Absent: all that are open. */
  readonly resources?: readonly string[];
  /** Bytes of JSON that one result may have in the conversation. */
  readonly maxResultBytes: number;
  readonly overflow: Overflow;
  /** The approval rule of its calls. Absent: they never wait. */
  readonly approval?: ToolApproval<Args, Deps, Needed>;
  /** The JSON Schema of the answer, if the tool is a question to a person (`askHuman`): such a tool never runs. */
  readonly answer?: JsonObject;
  /** The callers that may call it. Absent: the model and code. */
  readonly callers?: readonly ToolCaller[];
  /** The kind of effect that it has. Absent: not known. */
  readonly category?: ToolCategory;
  /** True if the tool is a schema alone (`execute: 'none'`): such a tool never runs. */
  readonly notExecutable?: true;
  /** The agent that it runs (`agentTool`): each call is a run of its own. */
  readonly agent?: AgentToolDefinition;
  /** Returns any JSON value, nothing, a `ToolOutput`, or one of them with an update of the deps. If its last attempt throws, the model gets an error result. */
  readonly execute: (args: Args, context: RunContext<Deps, Needed>) => Result;
}

/** A tool with any deps and resources, as registries hold it. */
export type AnyTool = ToolDefinition<never, never, unknown, never>;
