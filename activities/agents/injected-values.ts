import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { injectionProblem } from '../../src/core/execution/injected-value.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { codeExecutor } from '../code/code-executor.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Returns the values that the code of an agent is given for these deps. Throws `invalid_agent` for anything but a bounded JSON object. */
export async function injectedValues({ name, code }: AnyAgent, deps: unknown): Promise<JsonObject | undefined> {
  if (code?.inject === undefined) return undefined;
  const values = await given(name, () => code.inject?.({ deps: deps as never }));
  const problem = injectionProblem(values, 'its result');
  if (problem !== undefined) throw misfit(name, problem);
  if (!isJsonObject(values)) throw misfit(name, 'its result is no object: return {name: value}');
  const bytes = jsonBytes(values);
  if (bytes > BYTE_BUDGETS.injected) {
    throw misfit(name, `its result has ${bytes} bytes of JSON, over ${BYTE_BUDGETS.injected}: inject less, or let a tool look it up`);
  }
  return values;
}

/** Throws `invalid_agent` if the executor of a run cannot give its code the values, because of their names. */
export async function checkInjected(runtime: ActivityRuntime, snapshot: AgentSnapshot): Promise<void> {
  if (snapshot.code?.injected === undefined) return;
  try {
    const executor = await codeExecutor(runtime, snapshot);
    await executor.close();
  } catch (error) {
    throw misfit(snapshot.name, errorMessage(error));
  }
}

async function given(agent: string, inject: () => unknown): Promise<unknown> {
  try {
    return await inject();
  } catch (error) {
    throw new LonghaulError('invalid_agent', `"code.inject" of agent "${agent}" failed: ${errorMessage(error)}`, { cause: error });
  }
}

function misfit(agent: string, problem: string): LonghaulError {
  return new LonghaulError('invalid_agent', `"code.inject" of agent "${agent}" returned values that its code cannot have: ${problem}`);
}
