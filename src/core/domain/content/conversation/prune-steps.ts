import { shortened } from '../text.ts';
import type { ConversationStep } from './conversation-step.ts';

/** The rule by which a conversation is shortened before the model receives it. Nothing is removed from the record. */
export type PruneStrategy =
  | { readonly strategy: 'none' }
  /** Keeps the last `keep` actions and notes, and removes those before. */
  | { readonly strategy: 'last_steps'; readonly keep: number }
  /** Keeps all actions, and cuts the observations of all but the last `keep` (3) to `maxLength` (100) characters. */
  | { readonly strategy: 'old_observations'; readonly keep?: number; readonly maxLength?: number };

/** The parts of a step that pruning reads and changes. */
type Prunable = Pick<ConversationStep, 'type'> & { readonly observation?: string };

/** Returns the steps that are left, in their order. Instructions and tasks are always kept. */
export function pruneSteps<Step extends Prunable>(steps: readonly Step[], strategy: PruneStrategy): Step[] {
  switch (strategy.strategy) {
    case 'none':
      return [...steps];
    case 'last_steps': {
      const old = beforeLast(steps, isRemovable, strategy.keep);
      return steps.filter((_, index) => !old.has(index));
    }
    case 'old_observations': {
      const { keep = 3, maxLength = 100 } = strategy;
      const old = beforeLast(steps, ({ type }) => type === 'action', keep);
      return steps.map((step, index) => (old.has(index) ? withShortObservation(step, maxLength) : step));
    }
  }
}

function isRemovable({ type }: Prunable): boolean {
  return type === 'action' || type === 'scratchpad';
}

/** Returns the indexes of all steps of a kind but its last `keep`. */
function beforeLast<Step>(steps: readonly Step[], isOfKind: (step: Step) => boolean, keep: number): Set<number> {
  const indexes = steps.flatMap((step, index) => (isOfKind(step) ? [index] : []));
  return new Set(indexes.slice(0, Math.max(0, indexes.length - Math.max(0, keep))));
}

function withShortObservation<Step extends Prunable>(step: Step, maxLength: number): Step {
  return step.observation === undefined ? step : { ...step, observation: shortened(step.observation, maxLength) };
}
