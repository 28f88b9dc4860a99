import { ApplicationFailure } from '@temporalio/common';
import type { FlowInput, ModelSettings } from '../../src/core/domain/agent.ts';
import type { ContentPart } from '../../src/core/domain/content.ts';
import type { Duration } from '../../src/core/domain/time.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { isJsonObject } from '../../src/core/domain/json.ts';
import { type LimitChanges, type LimitOptions, limitsWithDeadline, plainLimits } from '../../src/core/domain/limits.ts';
import type { ModelName } from '../../src/core/domain/model.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import { openingOf, overridesIn, type RunOpening } from '../../src/core/domain/run-input.ts';
import type { RunInput } from '../../src/core/protocol.ts';

/** The input of `runAgent`: what the user says, or the conversation that the run begins with. */
export type RunAgentInput = string | ContentPart[] | RunOpening;

/** Options of a run that a workflow starts, with deps. */
export interface RunInputOptions extends StartedRun {
  deps?: unknown;
  flow?: FlowInput;
}

/** Options of `runAgent` for a run of either kind. */
export interface StartedRun {
  /** Whom the run and its children act for. */
  principal?: Principal;
  /** Overrides limits of the agent. */
  limits?: LimitOptions;
  /** The longest time of the run, from its start: the limit `deadline`. */
  deadline?: Duration;
  /** Replaces the agent's model for this run: `provider/model`, with a provider of its worker. */
  model?: ModelName;
  /** Settings of the model. Each replaces the agent's own (`extra` as a whole). */
  settings?: ModelSettings;
  /** Up to 20 tags of up to 100 characters by which the run can be found, and a provider may choose its key. */
  tags?: readonly string[];
  /** The stream of the run and its children may travel in heartbeats, for a worker and a client with `heartbeatStreams()`. Each heartbeat is a call to the server. */
  live?: boolean;
}

/**
 * Returns the input of a run that a workflow starts. Throws an ApplicationFailure of type `invalid_input` for an
 * invalid limit or deadline.
 */
export function runInputOf(agent: string, input: RunAgentInput, options: RunInputOptions): RunInput {
  const { deps, flow, principal, model, settings, tags, live } = options;
  const limits = plain(agent, options);
  return {
    agent,
    ...openingFrom(input),
    ...(flow === undefined ? {} : { flow }),
    ...(isJsonObject(deps) ? { deps } : {}),
    ...(principal === undefined ? {} : { principal }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...overridesIn({
      ...(model === undefined ? {} : { model }),
      ...(settings === undefined ? {} : { settings }),
      ...(tags === undefined ? {} : { tags: [...tags] }),
      ...(live === true ? { live } : {}),
    }),
  };
}

function openingFrom(input: RunAgentInput): RunOpening {
  return typeof input === 'object' && !Array.isArray(input) && input !== null ? openingOf(input) : { input };
}

function plain(agent: string, options: RunInputOptions): LimitChanges {
  const owner = `agent "${agent}" cannot start`;
  try {
    return plainLimits(owner, limitsWithDeadline(owner, options) ?? {});
  } catch (error) {
    throw ApplicationFailure.create({ type: 'invalid_input', message: errorMessage(error), nonRetryable: true });
  }
}
