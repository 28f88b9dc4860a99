import { codeTools } from '../../src/core/code/code-tools.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { Executor } from '../../src/core/execution/executor.ts';
import type { ExecutorDefinition } from '../../src/define/code/executor-definition.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Makes the executor that the code of a run was pinned to, with the tools that code may call and the values that it is given. */
export async function codeExecutor(
  runtime: Pick<ActivityRuntime, 'registry' | 'createExecutor'>,
  snapshot: AgentSnapshot,
): Promise<Executor> {
  const executor = await runtime.createExecutor(definitionOf(runtime, snapshot), {
    tools: codeTools(snapshot),
    scratchpad: snapshot.replyFormat === 'code',
  });
  for (const [name, value] of Object.entries(snapshot.code?.injected ?? {})) executor.inject(name, value);
  return executor;
}

/** Returns the pinned executor. The command or the function of one of the user comes from this worker, which must have the agent. */
function definitionOf({ registry }: Pick<ActivityRuntime, 'registry'>, { name, code }: AgentSnapshot): ExecutorDefinition {
  if (code === undefined) throw new LonghaulError('internal', `Agent "${name}" runs no code`);
  const { executor } = code;
  if (executor.kind !== 'custom' && executor.kind !== 'in_process') return executor;
  const { command, create } = registry.agent(name).code?.executor ?? {};
  return { ...executor, ...(command === undefined ? {} : { command }), ...(create === undefined ? {} : { create }) };
}
