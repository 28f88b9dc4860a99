import { originOf } from '../domain/fallback.ts';
import type { Capability } from '../kernel/capability.ts';

// Model phase: a list of models, whose order the activity of a call follows.

/** The models of an agent that are asked when one before them fails. The run itself decides nothing: the response says who gave it. */
export const fallback: Capability = {
  name: 'fallback',
  // A conversation that was shortened in vain may fit a larger model of the list.
  modelCallParts: (_, { shortened }) => (shortened ? { shortened } : {}),
  stepParts: (_, response) => originOf(response),
};
