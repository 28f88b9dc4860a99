import type { ToolCaller, ToolPolicy } from '../../core/domain/agent.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import type { SecretReference } from '../../core/domain/deps.ts';
import type { ToolApproval } from '../options/approval-options.ts';
import type { Overflow } from '../options/result-budget.ts';

/** A value for the server: a text that is not secret, or a secret of the worker by its name. */
export type McpValue = string | SecretReference;

/** The transport of a server, checked. */
export type McpTransport =
  | {
      readonly type: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, McpValue>>;
      readonly cwd?: string;
    }
  | {
      readonly type: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, McpValue>>;
      /** The protocol, if it is not to be found out. */
      readonly protocol?: 'http' | 'sse';
    };

/** One call for an approval predicate: the tool by the name that its server uses. */
export interface McpCallInfo {
  readonly tool: string;
  readonly args: JsonObject;
}

/** The effect of a call: `idempotent` if it may run a second time. */
export type McpEffect = 'idempotent' | 'once';

/** An MCP server as `mcpServer` returns it: checked. */
export interface McpServerDefinition {
  readonly kind: 'longhaul.mcp_server';
  readonly name: string;
  readonly transport: McpTransport;
  /** The tools to use. Absent: all. */
  readonly include?: readonly string[];
  readonly exclude: readonly string[];
  readonly approval?: ToolApproval<McpCallInfo, JsonObject>;
  /** The policies of calls, by effect. */
  readonly policies: Readonly<Record<McpEffect, ToolPolicy>>;
  /** Returns the effect of a tool; undefined if the server's annotations decide. */
  readonly effectOf: (tool: string) => McpEffect | undefined;
  /** Returns the callers of a tool; undefined if the model and code may call it. */
  readonly callersOf: (tool: string) => readonly ToolCaller[] | undefined;
  readonly maxResultBytes: number;
  readonly overflow: Overflow;
  readonly prefix?: string;
  readonly idleTimeoutMs: number;
}
