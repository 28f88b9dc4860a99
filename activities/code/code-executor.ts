import { toolsFor } from '../../src/core/code/callers.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { isJsonObject } from '../../src/core/domain/json/json.ts';
import type { CodeTool, Executor } from '../../src/core/execution/executor.ts';
import type { ExecutorDefinition } from '../../src/define/code/executor-definition.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Makes the executor that the code of a run was pinned to, with the tools that code may call. */
export function codeExecutor(runtime: Pick<ActivityRuntime, 'registry' | 'createExecutor'>, snapshot: AgentSnapshot): Promise<Executor> {
  const tools = toolsFor('code', snapshot).map(({ name, schema }): CodeTool => {
    const { properties } = schema;
    return { name, parameters: isJsonObject(properties) ? Object.keys(properties) : [] };
  });
  return runtime.createExecutor(definitionOf(runtime, snapshot), { tools, scratchpad: snapshot.replyFormat === 'code' });
}

/** Returns the pinned executor. The command of a custom one comes from this worker, which must have the agent. */
function definitionOf({ registry }: Pick<ActivityRuntime, 'registry'>, { name, code }: AgentSnapshot): ExecutorDefinition {
  if (code === undefined) throw new LonghaulError('internal', `Agent "${name}" runs no code`);
  const { executor } = code;
  if (executor.kind !== 'custom') return executor;
  const command = registry.agent(name).code?.executor.command;
  return command === undefined ? executor : { ...executor, command };
}
