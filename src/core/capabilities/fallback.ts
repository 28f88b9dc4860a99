import { originOf } from '../domain/fallback.ts';
import type { Capability } from '../kernel/capability.ts';

// Model phase: a list of models. The activity of a call goes through it.

/** The models that are asked when an earlier one fails. The run itself decides nothing: the response names the model that gave it. */
export const fallback: Capability = {
  name: 'fallback',
  // A conversation that could not be shortened enough may fit a larger model of the list.
  modelCallParts: (_, { shortened }) => (shortened ? { shortened } : {}),
  stepParts: (_, response) => originOf(response),
};
