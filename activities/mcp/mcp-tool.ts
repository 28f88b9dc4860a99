import { z } from 'zod';
import type { ToolApproval } from '../../src/define/options/approval-options.ts';
import type { McpServerDefinition } from '../../src/define/mcp/mcp-definition.ts';
import type { RunContext } from '../../src/define/context/run-context.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import { ToolFailure } from '../../src/define/tools/tool-failure.ts';
import { type ToolOutput, toolOutput } from '../../src/define/tools/tool-output.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { checkJson, problemsText } from '../../src/core/json-schema/check-json-schema.ts';
import { UnknownOutcome } from '../tool-calls/unknown-outcome.ts';
import { checkableSchema } from './checkable-schema.ts';
import type { McpProgress } from './mcp-connection.ts';
import type { McpPool, McpTools } from './mcp-pool.ts';
import { nameOfTool, readTool } from './read-tool.ts';
import { resultContent } from './result-content.ts';

/** A tool of a server as it is pinned for a run. */
export interface PinnedTool {
  /** The name that the model knows. */
  name: string;
  /** The name that the server knows. */
  tool: string;
  /** True if its calls must not run twice. */
  once: boolean;
}

/** The most characters of a server's message in an error and in a heartbeat. */
const MESSAGE_CHARS = 2_000;
const PROGRESS_CHARS = 500;

/** Any arguments: they were checked with the pinned schema, and are checked with the server's current one. */
const ANY_ARGUMENTS = z.looseObject({});

/** Returns a tool of an MCP server as an ordinary tool: its calls are retried, limited, redacted and recorded in the same way. */
export function mcpToolDefinition(pool: Pick<McpPool, 'call'>, server: McpServerDefinition, pinned: PinnedTool): AnyTool {
  const { approval, maxResultBytes, overflow } = server;
  return {
    kind: 'longhaul.tool',
    name: pinned.name,
    description: '',
    parameters: ANY_ARGUMENTS,
    schema: {},
    providerSchema: {},
    strict: false,
    parallel: true,
    policy: server.policies[pinned.once ? 'once' : 'idempotent'],
    retryOn: 'any',
    maxResultBytes,
    overflow,
    ...(approval === undefined ? {} : { approval: approvalOf(approval, pinned.tool) }),
    execute: (args: JsonObject, context: RunContext) => callMcpTool({ pool, server, pinned }, args, context),
  };
}

/** The destination of a call. */
interface Destination {
  pool: Pick<McpPool, 'call'>;
  server: McpServerDefinition;
  pinned: PinnedTool;
}

/**
 * Calls a tool of a server. Throws a `ToolFailure` if the server refuses, `UnknownOutcome` for a call that must not run
 * twice and may have run, and `mcp_unreachable` or another error for a failure that may be retried.
 */
async function callMcpTool({ pool, server, pinned }: Destination, args: JsonObject, context: RunContext): Promise<ToolOutput> {
  const { tool, once } = pinned;
  const { idempotencyKey, signal } = context;
  const onProgress = (reported: McpProgress): void => {
    const progress = progressDetails(reported);
    context.heartbeat(progress);
    context.emit('progress', progress);
  };
  const request = { tool, args, idempotencyKey, signal, onProgress };
  let output: JsonObject | undefined;
  const outcome = await pool.call(server, request, (tools) => {
    const current = currentTool(tools, tool);
    output = current?.output;
    return problemOf(current, { tool, args, server: server.name });
  });
  switch (outcome.type) {
    case 'answered': {
      const { content, isError } = resultContent(outcome.result, output);
      return toolOutput(content, { isError });
    }
    case 'refused':
      throw new ToolFailure(briefly(outcome.message, MESSAGE_CHARS));
    case 'not_sent':
      throw new Error(`MCP server "${server.name}" did not get the call: ${briefly(outcome.message, MESSAGE_CHARS)}`);
    case 'lost': {
      const message = `MCP server "${server.name}" did not answer the call: ${briefly(outcome.message, MESSAGE_CHARS)}`;
      throw once ? new UnknownOutcome(message) : new Error(message);
    }
  }
}

/** A tool as the server has it now. */
interface CurrentTool {
  /** Absent if its schema cannot be used any more: only the server checks the arguments then. */
  schema?: JsonObject;
  output?: JsonObject;
}

/** Tools by their entry in the list: a connection lists tools rarely and calls them often. */
const current = new WeakMap<object, CurrentTool>();

function currentTool(tools: McpTools, name: string): CurrentTool | undefined {
  const listed = tools.find((one) => nameOfTool(one) === name);
  if (!isJsonObject(listed)) return undefined;
  const known = current.get(listed);
  if (known !== undefined) return known;
  const read = readTool(listed, name);
  const tool =
    read.problem === undefined
      ? { schema: checkableSchema(read.input), ...(read.output === undefined ? {} : { output: checkableSchema(read.output) }) }
      : {};
  current.set(listed, tool);
  return tool;
}

/** Returns why the server cannot take the call any more: a run keeps the tools that it began with. */
function problemOf(
  known: CurrentTool | undefined,
  { tool, args, server }: { tool: string; args: JsonObject; server: string },
): string | undefined {
  if (known === undefined)
    return `MCP server "${server}" has no tool "${tool}" any more: it was removed since this run began. Go on without it`;
  const problems = checkJson(known.schema ?? {}, args);
  if (problems.length === 0) return undefined;
  return `MCP server "${server}" has changed the arguments of "${tool}" since this run began, and these do not fit: ${problemsText(problems)}`;
}

/** Adapts the server's predicate to the one of a tool. */
function approvalOf({ when, ...terms }: NonNullable<McpServerDefinition['approval']>, tool: string): ToolApproval {
  if (when === 'always') return { when, ...terms };
  return { ...terms, when: (args: JsonObject, context) => when({ tool, args }, context) };
}

function progressDetails({ progress, total, message }: McpProgress): JsonObject {
  return {
    progress,
    ...(total === undefined ? {} : { total }),
    ...(message === undefined ? {} : { message: briefly(message, PROGRESS_CHARS) }),
  };
}

/** Cuts a text of a server. */
function briefly(text: string, chars: number): string {
  return text.toWellFormed().slice(0, chars).toWellFormed();
}
