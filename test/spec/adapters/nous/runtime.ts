import { newRunState } from '../../../../src/core/kernel/run-state.ts';
import { limitReached } from '../../../../src/core/kernel/limits.ts';
import { applyOperations } from '../../../../src/core/domain/deps.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import { newSnapshot } from '../../../fakes/snapshot.ts';
import type { Operation } from '../adapter.ts';
import { number, object } from '../fields.ts';
import { runLoop } from './run.ts';
import { addMessages } from './conversation.ts';
import { buildPolicy, checkPolicy } from './permissions.ts';
import { newContext } from './saved-context.ts';
import { sessionLimitOperations } from './session-limits.ts';
import { changeSkills, matchSkills, parseSkillFile, promptOfSkills } from './skills.ts';
import { hooksRun } from './hooks.ts';
import { streamComplete } from './stream.ts';
import { addUsages } from './usage.ts';
import { executeTool } from './tool.ts';
import { validateArguments } from './validation.ts';

/** Suite `nous.runtime`: how deps, limits and tools behave, and the loop. */
export const nousRuntimeOperations: Readonly<Record<string, Operation>> = {
  'context.new': newContext,
  'context.add_messages': addMessages,
  'context.merge_deps': { input: ['deps', 'patch'], expect: ['deps', 'error'], perform: mergeDeps },
  'context.max_iterations_reached': { input: ['iteration', 'max_iterations'], expect: [], perform: isMaxIterationsReached },
  'usage.add': addUsages,
  'tool.validate': validateArguments,
  'tool.execute': executeTool,
  'run.loop': runLoop,
  'permissions.check': checkPolicy,
  'permissions.build': buildPolicy,
  'hooks.run': hooksRun,
  ...sessionLimitOperations,
  'skill.parse': parseSkillFile,
  'skill.match': matchSkills,
  'skill.registry': changeSkills,
  'skill.system_prompt': promptOfSkills,
  'stream.complete': streamComplete,
};

function mergeDeps({ deps, patch }: JsonObject): JsonObject {
  const operations = Object.entries(object(patch ?? {})).map(([key, value]) => ({ op: 'set' as const, key, value }));
  const updated = applyOperations(object(deps ?? {}), operations);
  return updated.ok ? { deps: updated.deps } : { error: true };
}

const CLOCK = { now: () => 1_700_000_000_000, uuid: () => 'id' };

function isMaxIterationsReached({ iteration, max_iterations }: JsonObject): boolean {
  const snapshot = newSnapshot({ limits: { steps: Math.max(1, number(max_iterations, 10)) } });
  const state = newRunState({ runId: 'r', snapshot, input: '', startedAt: CLOCK.now() }, CLOCK);
  state.limits = { ...state.limits, steps: number(max_iterations, 10) };
  state.context.currentStep = number(iteration, 0);
  return limitReached(state, CLOCK.now(), { final: false })?.stopReason === 'step_limit';
}
