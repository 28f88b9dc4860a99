import { type ErrorCode, UsageError } from '../core/domain/errors.ts';
import { MAY_MOVE_ON, MOST_MODELS } from '../core/domain/fallback.ts';
import { defined } from '../core/domain/json.ts';
import { type ModelName, modelName } from '../core/domain/model.ts';
import { didYouMean } from '../core/domain/text.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import type { PricedModel } from '../model/models.ts';
import { nonEmpty, type OptionTable, requireKnown } from './option-checks.ts';

/** The name of a model. Editors propose those whose list price is known; the intersection keeps these in the type. */
export type ProposedModel = PricedModel | (ModelName & {});

/** The model of an agent, or a list of models: one that fails is followed by the next. */
export type ModelOption = ProposedModel | readonly ProposedModel[];

/** The way in which the calls of an agent move on from one model of its list to the next. */
export interface FallbackOptions {
  /**
   * The failures after which the next model is asked. `default`: the provider or its account cannot serve the call: 401, 403, 404, 408,
   * 409, 429, 5xx, no quota, no connection, no answer in time or none that can be read. A refusal, a filter, and a conversation that is
   * too long are never among them.
   */
  on?: 'default' | readonly ErrorCode[];
  /** The time for which a worker asks a model that has failed last, unless its provider asks for more. Default 30 seconds. */
  coolDown?: Duration;
  /**
   * The longest time that a call waits for the limits of a model (`limits` of the worker) before the next one is asked. Default: as long
   * as it takes.
   */
  maxWait?: Duration;
  /**
   * The time at which the first model is asked again. `turn`: with the next turn, so that one model makes all calls of a turn. `call`:
   * with the next call; what the others have called in the turn is then sent as text. Default `turn`.
   */
  returnAt?: 'turn' | 'call';
}

const FALLBACK_OPTIONS: OptionTable<FallbackOptions> = { on: true, coolDown: true, maxWait: true, returnAt: true };

/** The models of an agent that has several, checked. */
export interface FallbackDefinition {
  /** In the order in which they are asked. */
  readonly models: readonly ModelName[];
  /** Absent: the defaults. */
  readonly on?: readonly ErrorCode[];
  /** Milliseconds for which a model that has failed is asked last. */
  readonly coolDownMs?: number;
  /** Milliseconds that a call waits for the limits of a model. */
  readonly maxWaitMs?: number;
  /** Absent: the next turn. */
  readonly returnAt?: 'call';
}

/** The longest time for which a model is asked last. */
const LONGEST_COOL_DOWN_MS = 24 * 60 * 60 * 1_000;

/** Returns the models of an agent. Throws a UsageError that names the agent and the place in the list. */
export function agentModels(
  owner: string,
  { model, fallback }: { model: unknown; fallback?: FallbackOptions | undefined },
): { model: ModelName; fallback?: FallbackDefinition } {
  if (!Array.isArray(model)) {
    if (fallback !== undefined) {
      throw new UsageError(`${owner} has "fallback" and one model: write a list, model: [${JSON.stringify(model)}, "provider/model"]`);
    }
    return { model: modelName(owner, nonEmpty(`${owner}: "model"`, model)) };
  }
  const models = checkModels(owner, model);
  const policy = fallback === undefined ? {} : checkFallback(owner, fallback);
  const [first] = models;
  if (first === undefined) throw new UsageError(`${owner}: "model" is an empty list: name at least one model`);
  // One model is what it is without a list.
  return models.length === 1 ? { model: first } : { model: first, fallback: { models, ...policy } };
}

function checkModels(owner: string, given: readonly unknown[]): ModelName[] {
  if (given.length > MOST_MODELS) {
    throw new UsageError(`${owner}: "model" has ${given.length} models, up to "model[${given.length - 1}]": name at most ${MOST_MODELS}`);
  }
  const models = given.map((one, index) => modelName(`${owner}: "model[${index}]"`, nonEmpty(`${owner}: "model[${index}]"`, one)));
  for (const [index, model] of models.entries()) {
    const before = models.indexOf(model);
    if (before === index) continue;
    throw new UsageError(`${owner}: "model[${index}]" is "${model}", and so is "model[${before}]": name each model once`);
  }
  return models;
}

function checkFallback(owner: string, fallback: FallbackOptions): Omit<FallbackDefinition, 'models'> {
  requireKnown(`${owner}: "fallback"`, fallback, FALLBACK_OPTIONS);
  const { on = 'default', coolDown, maxWait, returnAt = 'turn' } = fallback;
  if (returnAt !== 'turn' && returnAt !== 'call') {
    throw new UsageError(`${owner}: "fallback.returnAt" is ${JSON.stringify(returnAt)}: write "turn" or "call"`);
  }
  const coolDownMs =
    coolDown === undefined ? undefined : milliseconds(coolDown, `${owner}: "fallback.coolDown"`, { least: 0, most: LONGEST_COOL_DOWN_MS });
  const maxWaitMs = maxWait === undefined ? undefined : milliseconds(maxWait, `${owner}: "fallback.maxWait"`, { least: 0 });
  return {
    ...(on === 'default' ? {} : { on: checkCodes(owner, on) }),
    ...defined({ coolDownMs, maxWaitMs }),
    ...(returnAt === 'call' ? { returnAt } : {}),
  };
}

function checkCodes(owner: string, codes: unknown): readonly ErrorCode[] {
  const name = `${owner}: "fallback.on`;
  if (!Array.isArray(codes) || codes.length === 0) {
    throw new UsageError(`${name}" is ${JSON.stringify(codes)}: write "default" or a list of codes of errors`);
  }
  for (const [index, code] of (codes as unknown[]).entries()) {
    if (MAY_MOVE_ON.some((known) => known === code)) continue;
    throw new UsageError(
      `${name}[${index}]" is ${JSON.stringify(code)}: write one of ${MAY_MOVE_ON.join(', ')}${didYouMean(String(code), MAY_MOVE_ON)}`,
    );
  }
  return codes as ErrorCode[];
}
