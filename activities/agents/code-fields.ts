import { mayCall } from '../../src/core/code/callers.ts';
import { spellingProblem } from '../../src/core/code/language-names.ts';
import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { CodeSnapshot } from '../../src/core/domain/code/code-snapshot.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import { jsonSchemaOf } from '../../src/schema/zod-json-schema.ts';

/**
 * Returns the fields of a snapshot that concern code: none for an agent without it. Throws `invalid_agent` if code has no tool, or
 * one that it cannot call by its name. With MCP servers this could not be checked when the agent was defined.
 */
export function codeFields(
  { name, code, replyFormat }: AnyAgent,
  tools: readonly ToolSnapshot[],
  injected?: JsonObject,
): Pick<AgentSnapshot, 'code' | 'replyFormat'> {
  if (code !== undefined) requireCodeTools(name, code.executor.language, tools);
  if (replyFormat !== undefined && tools.length === 0) {
    throw new LonghaulError('invalid_agent', `Agent "${name}" requires at least one tool: its MCP servers have none`);
  }
  return {
    ...(code === undefined ? {} : { code: codeSnapshot(code, injected) }),
    ...(replyFormat === undefined ? {} : { replyFormat }),
  };
}

/** Returns the schema of the values that a tool returns, for its signature: none if JSON Schema cannot say it, or if only the model may call the tool. */
export function resultField(tool: AnyTool): Pick<ToolSnapshot, 'result'> {
  if (tool.result === undefined || !mayCall('code', tool)) return {};
  try {
    return { result: jsonSchemaOf(tool.result, `tool "${tool.name}": result`, 'output') };
  } catch {
    return {};
  }
}

function codeSnapshot({ executor, tier, prune }: NonNullable<AnyAgent['code']>, injected: JsonObject | undefined): CodeSnapshot {
  const { kind, language, limits, allowedImports } = executor;
  return {
    executor: { kind, language, limits: { ...limits }, allowedImports: [...allowedImports] },
    tier,
    ...(injected === undefined ? {} : { injected }),
    ...(prune === undefined ? {} : { prune: { ...prune } }),
  };
}

function requireCodeTools(agent: string, language: CodeSnapshot['executor']['language'], tools: readonly ToolSnapshot[]): void {
  const callable = tools.filter((tool) => mayCall('code', tool));
  if (callable.length === 0) {
    throw new LonghaulError(
      'invalid_agent',
      `Agent "${agent}" requires at least one tool that its code may call, and neither it nor an MCP server of it has one`,
    );
  }
  for (const tool of callable) {
    const problem = spellingProblem(tool.name, language);
    if (problem === undefined) continue;
    throw new LonghaulError('invalid_agent', `Code of agent "${agent}" cannot call the tool "${tool.name}" by this name: ${problem}`);
  }
}
