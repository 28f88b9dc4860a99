import { ApplicationFailure } from '@temporalio/common';
import type { ContentPart } from '../src/domain/content.ts';
import { errorMessage } from '../src/domain/error.ts';
import { isJsonObject } from '../src/domain/json.ts';
import { type LimitOptions, plainLimits } from '../src/domain/limit-options.ts';
import type { RunInput } from '../src/protocol.ts';

/** What a workflow says of a run that it starts. */
export interface RunInputOptions {
  deps?: unknown;
  maxIterations?: number;
  limits?: LimitOptions;
}

/** The input of a run that a workflow starts. Throws an ApplicationFailure of type `invalid_input` for a deadline that is no duration. */
export function runInputOf(agent: string, input: string | ContentPart[], { deps, maxIterations, limits }: RunInputOptions): RunInput {
  return {
    agent,
    input,
    ...(isJsonObject(deps) ? { deps } : {}),
    ...(maxIterations === undefined ? {} : { maxIterations }),
    ...(limits === undefined ? {} : { limits: plain(agent, limits) }),
  };
}

function plain(agent: string, limits: LimitOptions): NonNullable<RunInput['limits']> {
  try {
    return plainLimits(`agent "${agent}" cannot start`, limits);
  } catch (error) {
    throw ApplicationFailure.create({ type: 'invalid_input', message: errorMessage(error), nonRetryable: true });
  }
}
