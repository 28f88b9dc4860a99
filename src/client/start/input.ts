import { type AnyAgent, parseDeps } from '../../define/agent-definition.ts';
import { checkOverrides, withOverrides } from '../../define/model-settings.ts';
import type { ModelSettings } from '../../core/domain/agent.ts';
import { depsProblem, startStateProblem } from '../../core/domain/deps.ts';
import type { Duration } from '../../core/domain/time.ts';
import { errorMessage, LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/domain/json.ts';
import { type LimitOptions, limitsWithDeadline, plainLimits } from '../../core/domain/limits.ts';
import type { ModelName } from '../../core/domain/model.ts';
import type { RunOpening, RunOverrides, SessionInput } from '../../core/domain/run-input.ts';
import { claimsProblem, type Principal } from '../../core/domain/run.ts';
import type { RunInput } from '../../core/protocol.ts';
import { checkRunInput } from '../../core/wire-schemas/run-input-schema.ts';

/** The options of a start that are in the input of the run. */
export type RunInputOptions = Partial<RunOpening> & {
  /** The run is a session. */
  session?: SessionInput;
  deps?: unknown;
  state?: unknown;
  /** Whom the run acts for. */
  principal?: Principal;
  limits?: LimitOptions;
  deadline?: Duration;
  model?: ModelName;
  settings?: ModelSettings;
  tags?: readonly string[];
  live?: boolean;
};

/**
 * Returns the input of a run as it is sent. Throws `invalid_input` and `payload_too_large` for input with which no run can start, and
 * a UsageError for messages that end with an answer, without an input after them.
 */
export function runInput(agent: AnyAgent | string, options: RunInputOptions): RunInput {
  const { input, messages, deps, state, principal, session, model, settings, tags, live } = options;
  const withDeadline = limitsWithDeadline('the run cannot start', options);
  const limits = plainLimits('the run cannot start', withDeadline ?? {});
  // Without deps, the agent's schema is checked against none: it may require some.
  if (deps === undefined && typeof agent !== 'string') parseDeps(agent, {});
  const inClaims = claimsProblem(principal);
  if (inClaims !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${inClaims}`);
  // Converted to JSON and back, as they are sent.
  const overrides = JSON.parse(JSON.stringify({ model, settings, tags, live: liveOf(live) })) as RunOverrides;
  requireUsable(agent, overrides);
  const checked = checkRunInput(
    stripUndefined({
      agent: typeof agent === 'string' ? agent : agent.name,
      messages,
      input,
      deps: deps === undefined ? undefined : plainDeps(agent, deps),
      state: state === undefined ? undefined : plainState(state),
      principal: principal === undefined ? undefined : (JSON.parse(JSON.stringify(principal)) as unknown),
      session: session === undefined ? undefined : stripUndefined({ ...session }),
      limits: Object.keys(limits).length === 0 ? undefined : limits,
      ...overrides,
    }),
  );
  if (checked.ok) return checked.input;
  const message = `The run cannot start: ${checked.problem}`;
  throw checked.lacksInput ? new UsageError(message) : new LonghaulError(checked.code, message);
}

/** Throws if the agent, as far as it is known, cannot work with this model and these settings. */
function requireUsable(agent: AnyAgent | string, overrides: RunOverrides): void {
  try {
    if (typeof agent === 'string') checkOverrides(agent, overrides);
    else withOverrides(agent, overrides);
  } catch (error) {
    throw new LonghaulError('invalid_input', `The run cannot start: ${errorMessage(error)}`);
  }
}

/** Returns the deps as they will be read: plain JSON without secrets that fits the agent's schema, if the agent is known. */
function plainDeps(agent: AnyAgent | string, deps: unknown): JsonObject {
  const problem = depsProblem(deps);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
  if (typeof agent !== 'string') parseDeps(agent, deps);
  const plain: unknown = JSON.parse(JSON.stringify(deps) ?? 'null');
  if (isJsonObject(plain)) return plain;
  throw new LonghaulError('invalid_input', 'deps: expected an object of JSON values');
}

/** Returns the state that a run begins with as plain JSON without secrets. */
export function plainState(state: unknown): JsonObject {
  const problem = startStateProblem(state);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
  return JSON.parse(JSON.stringify(state)) as JsonObject;
}

/** Returns a flag as it is sent: only if it is set. */
export function liveOf(live: boolean | undefined): boolean | undefined {
  return live === false ? undefined : live;
}

function stripUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}
