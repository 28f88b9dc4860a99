import { type ConversationStep, pruneSteps, type PruneStrategy, stepMessages } from '../../../../src/core/domain/content.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, number, object, only, text } from '../fields.ts';

/** Steps of a conversation as messages, and steps after pruning. */
export const conversationOperations: Readonly<Record<string, Operation>> = {
  'memory.to_messages': {
    input: ['steps'],
    expect: ['messages', 'step_numbers'],
    perform: ({ steps }) => {
      const ours = list(steps).map(toOurStep);
      // The product numbers no steps: a step is known by its place.
      return { messages: stepMessages(ours).map(({ role, content }) => ({ role, content })), step_numbers: [...ours.keys()] };
    },
  },
  'memory.prune': {
    input: ['steps', 'strategy'],
    expect: ['kept'],
    perform: ({ steps, strategy }) => ({ kept: pruneSteps(list(steps).map(toOurStep), toOurStrategy(strategy)).map(toTheirStep) }),
  },
};

const STEP = ['kind', 'text', 'reply', 'observation', 'error'];

function toOurStep(step: JsonValue): ConversationStep {
  const { kind, text: said, reply, observation, error } = only('A step', step, STEP);
  switch (kind) {
    case 'system':
      return { type: 'system', text: text(said) };
    case 'task':
      return { type: 'task', content: text(said) };
    case 'action':
      return {
        type: 'action',
        reply: text(reply),
        ...(observation === undefined ? {} : { observation: text(observation) }),
        ...(error === undefined ? {} : { error: text(error) }),
      };
    case 'scratchpad':
      return { type: 'scratchpad', reply: text(reply), note: text(said) };
    default:
      throw new CaseProblem(`The case has a step of a kind that the adapter does not know: ${JSON.stringify(kind)}`);
  }
}

function toTheirStep(step: ConversationStep): JsonObject {
  return { kind: step.type, ...(step.type === 'action' && step.observation !== undefined ? { observation: step.observation } : {}) };
}

/** The names of the strategies by their forms in the cases. */
const NONE = ['none', 'no_pruning'];
const OLD_OBSERVATIONS = ['prune_old_observations', 'old_observations', 'prune_old'];
const OF_OLD_OBSERVATIONS = ['full', 'keep_last_n', 'max_length'];

function toOurStrategy(strategy: JsonValue | undefined): PruneStrategy {
  if (strategy === undefined || strategy === null || NONE.includes(JSON.stringify(strategy).slice(1, -1))) return { strategy: 'none' };
  const known = only('The strategy', strategy, [...NONE, ...OLD_OBSERVATIONS, ...OF_OLD_OBSERVATIONS, 'keep_last']);
  if (NONE.some((name) => known[name] === true)) return { strategy: 'none' };
  const nested = OLD_OBSERVATIONS.map((name) => known[name]).find((value) => value !== undefined);
  if (nested !== undefined) return toOldObservations(isJsonObject(nested) ? nested : {});
  if (OF_OLD_OBSERVATIONS.some((name) => known[name] !== undefined)) return toOldObservations(known);
  return { strategy: 'last_steps', keep: number(object(strategy)['keep_last'], 0) };
}

function toOldObservations(options: JsonObject): PruneStrategy {
  const {
    full,
    keep_last_n = full,
    keep_last = keep_last_n,
    max_length,
  } = only('The strategy', options, [...OF_OLD_OBSERVATIONS, 'keep_last']);
  return {
    strategy: 'old_observations',
    ...(keep_last === undefined ? {} : { keep: number(keep_last, 0) }),
    ...(max_length === undefined ? {} : { maxLength: number(max_length, 0) }),
  };
}
