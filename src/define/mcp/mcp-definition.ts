import type { JsonObject } from '../../core/domain/json/json.ts';
import type { SecretReference } from '../../core/domain/agent/secret-reference.ts';
import type { ToolPolicy } from '../../core/domain/agent/tool-policy.ts';
import type { ToolApproval } from '../options/approval-options.ts';
import type { Overflow } from '../options/result-budget.ts';

/** A value that the server gets: a text that may be known, or a secret of the worker by its name. */
export type McpValue = string | SecretReference;

/** How a server is reached, checked. */
export type McpTransport =
  | {
      readonly type: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, McpValue>>;
      readonly cwd?: string;
    }
  | { readonly type: 'http'; readonly url: string; readonly headers: Readonly<Record<string, McpValue>> };

/** One call as an approval predicate sees it: the tool by the name that its server gives it. */
export interface McpCallInfo {
  readonly tool: string;
  readonly args: JsonObject;
}

/** Whether a call may run a second time. */
export type McpEffect = 'idempotent' | 'once';

/** An MCP server as `mcpServer` returns it: checked. */
export interface McpServerDefinition {
  readonly kind: 'longhaul.mcp_server';
  readonly name: string;
  readonly transport: McpTransport;
  /** Absent: all. */
  readonly include?: readonly string[];
  readonly exclude: readonly string[];
  readonly approval?: ToolApproval<McpCallInfo, JsonObject>;
  /** How calls run, by effect. */
  readonly policies: Readonly<Record<McpEffect, ToolPolicy>>;
  /** Undefined where the server's word counts. */
  readonly effectOf: (tool: string) => McpEffect | undefined;
  readonly maxResultBytes: number;
  readonly overflow: Overflow;
  readonly prefix?: string;
  readonly idleTimeoutMs: number;
}
