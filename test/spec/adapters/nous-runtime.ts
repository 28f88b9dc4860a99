import { newRunState } from '../../../src/core/loop/state/run-state.ts';
import { limitReached } from '../../../src/core/loop/limits/limits.ts';
import { applyOperations } from '../../../src/core/domain/record/context-update.ts';
import type { JsonObject } from '../../../src/core/domain/json/json.ts';
import { addReported, type AggregatedUsage, noUsage } from '../../../src/core/domain/model/usage.ts';
import { newSnapshot } from '../../fakes/snapshot.ts';
import type { SuiteAdapter } from './adapter.ts';
import { list, number, object } from './fields.ts';
import { runNousLoop } from './nous-run.ts';
import { executeNousTool } from './nous-tool.ts';
import { validate } from './nous-validation.ts';

/** Suite `nous.runtime`: the context of an agent, how tools are executed, and the loop. */
export const nousRuntimeSuite: SuiteAdapter = {
  operations: {
    'context.new': (input) => newContext(object(object(input)['opts'] ?? {})),
    'context.add_messages': (input) => addMessages(list(object(input)['messages']).map(object)),
    'context.merge_deps': (input) => mergeDeps(object(input)),
    'context.max_iterations_reached': (input) => isMaxIterationsReached(object(input)),
    'usage.add': (input) => ({ usage: addUsages(list(object(input)['usages']).map(object)) }),
    'tool.validate': (input) => validate(object(input)),
    'tool.execute': (input) => executeNousTool(object(input)),
    'run.loop': (input) => runNousLoop(object(input)),
  },
  notBuilt: {
    'hooks.run': 'hooks are not built',
    'permissions.check': 'permissions are not built',
    'permissions.build': 'permissions are not built',
    'session.limits': 'sessions are not built',
    'session.should_compact': 'sessions are not built',
    'session.remaining': 'sessions are not built',
    'skill.parse': 'skills are not built',
    'skill.registry': 'skills are not built',
    'skill.match': 'skills are not built',
    'skill.system_prompt': 'skills are not built',
    'stream.complete': 'streams are not built',
  },
};

const CLOCK = { now: () => 1_700_000_000_000, uuid: () => 'id' };

/** What Nous calls a context is the state of a run with the instructions and the limit of its agent. */
function newContext(opts: JsonObject): JsonObject {
  const { deps, max_iterations, system_prompt, agent_name, messages } = opts;
  const snapshot = newSnapshot({
    ...(typeof system_prompt === 'string' ? { instructions: system_prompt } : {}),
    ...(typeof agent_name === 'string' ? { name: agent_name } : {}),
    ...(max_iterations === undefined ? {} : { limits: { steps: number(max_iterations, 10) } }),
  });
  const state = newRunState({ runId: 'r', snapshot, input: '', deps: object(deps ?? {}), startedAt: CLOCK.now() }, CLOCK);
  return {
    context: {
      messages: list(messages),
      tool_calls: [],
      system_prompt: system_prompt === undefined ? null : (state.snapshot.instructions[0] ?? null),
      deps: state.deps,
      usage: toTheirUsage({ ...state.usage, toolCalls: state.toolCallsTotal }),
      needs_response: true,
      iteration: state.context.currentStep,
      max_iterations: state.limits.maxIterations,
      agent_name: agent_name === undefined ? null : state.snapshot.name,
    },
  };
}

/** Our loop goes on after tool calls and after what a user says, and ends with an answer: the flag follows from that. */
function addMessages(messages: JsonObject[]): JsonObject {
  const flag = messages.reduce((before, { role, tool_calls }) => {
    if (role === 'system') return before;
    return role === 'assistant' ? list(tool_calls).length > 0 : true;
  }, true);
  return { needs_response: flag, contents: messages.map(({ content }) => content ?? null) };
}

function mergeDeps({ deps, patch }: JsonObject): JsonObject {
  const operations = Object.entries(object(patch ?? {})).map(([key, value]) => ({ op: 'set' as const, key, value }));
  const updated = applyOperations(object(deps ?? {}), operations);
  return updated.ok ? { deps: updated.deps } : { error: true };
}

function isMaxIterationsReached({ iteration, max_iterations }: JsonObject): boolean {
  const snapshot = newSnapshot({ limits: { steps: Math.max(1, number(max_iterations, 10)) } });
  const state = newRunState({ runId: 'r', snapshot, input: '', startedAt: CLOCK.now() }, CLOCK);
  state.limits = { ...state.limits, maxIterations: number(max_iterations, 10) };
  state.context.currentStep = number(iteration, 0);
  return limitReached(state, CLOCK.now(), { final: false })?.stopReason === 'step_limit';
}

function addUsages(usages: JsonObject[]): JsonObject {
  let total = { ...noUsage(), toolCalls: 0, created: 0 };
  for (const usage of usages) {
    const count = (name: string): number => number(usage[name], 0);
    const added = addReported(total, {
      promptTokens: count('input_tokens'),
      completionTokens: count('output_tokens'),
      totalTokens: count('total_tokens'),
      cachedTokens: count('cache_read_input_tokens'),
    });
    total = {
      ...added,
      llmCalls: total.llmCalls + count('requests'),
      toolCalls: total.toolCalls + count('tool_calls'),
      created: total.created + count('cache_creation_input_tokens'),
    };
  }
  return { ...toTheirUsage(total), cache_creation_input_tokens: total.created };
}

function toTheirUsage(usage: AggregatedUsage & { toolCalls: number }): JsonObject {
  return {
    requests: usage.llmCalls,
    tool_calls: usage.toolCalls,
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
  };
}
