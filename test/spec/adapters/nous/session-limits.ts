import type { JsonObject } from '../../../../src/core/domain/json.ts';
import {
  checkSessionLimits,
  remainingLimits,
  type SessionLimits,
  type SessionUsed,
  shouldCompact,
} from '../../../../src/core/domain/limits.ts';
import type { Operation } from '../adapter.ts';
import { number, only } from '../fields.ts';

const USED = ['config', 'turns', 'input_tokens', 'output_tokens'];

/** The limit of turns of a session that names none. */
const THEIR_TURNS = 10;

/** The limits of a session, by the operation that asks about them. */
export const sessionLimitOperations: Readonly<Record<string, Operation>> = {
  'session.limits': {
    input: USED,
    expect: ['result'],
    perform: (input) => ({ result: checkSessionLimits(limitsOf(input), usedOf(input)) }),
  },
  'session.remaining': { input: USED, expect: ['turns', 'tokens'], perform: left },
  'session.should_compact': { input: ['config', 'turns'], expect: [], perform: isCompacted },
};

function left(input: JsonObject): JsonObject {
  const { turns, totalTokens } = remainingLimits(limitsOf(input), usedOf(input));
  return { turns, tokens: totalTokens };
}

function isCompacted({ config, turns }: JsonObject): boolean {
  const { compact_after_turns: after } = configOf({ config: config ?? {} });
  return shouldCompact(after === undefined ? {} : { compactAfter: number(after, 0) }, number(turns, 0));
}

function limitsOf(input: JsonObject): SessionLimits {
  const { max_turns: turns, max_budget_tokens: tokens } = configOf(input);
  return {
    // A session of the product has no limit of turns, unless it names one.
    turns: number(turns, THEIR_TURNS),
    ...(tokens === undefined ? {} : { totalTokens: number(tokens, 0) }),
  };
}

function configOf({ config = {} }: JsonObject): JsonObject {
  return only('A configuration', config, ['max_turns', 'max_budget_tokens', 'compact_after_turns']);
}

function usedOf({ turns, input_tokens, output_tokens }: JsonObject): SessionUsed {
  return { turns: number(turns, 0), totalTokens: number(input_tokens, 0) + number(output_tokens, 0) };
}
