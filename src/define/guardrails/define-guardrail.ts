import { type ModelName, modelName } from '../../core/domain/model.ts';
import { type Duration, timerMilliseconds } from '../../core/domain/time.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { GUARDRAIL_TYPES, type GuardrailType } from '../../core/domain/guardrails.ts';
import { nonEmpty, requireKnown } from '../options/option-checks.ts';
import type { GuardrailAnswer, GuardrailContexts, GuardrailDefinition } from './guardrail-definition.ts';

/** The options of every guardrail, also of the prebuilt ones. */
export interface CommonGuardrailOptions<Type extends GuardrailType> {
  /** Names the guardrail in results and records. Each guardrail of a type of an agent has its own name. */
  name: string;
  /** The subject of its checks: `input`, `output` or `tool_call`. */
  type: Type;
  /** True to let pass what a failed check could not examine. Default false: a guardrail that fails trips. */
  failOpen?: boolean;
  /** The time limit of one check: at most 10 minutes, for a tool call at most 30 seconds. Default 30 seconds. */
  timeout?: Duration;
}

/** The options of `defineGuardrail`. */
export interface GuardrailOptions<Type extends GuardrailType> extends CommonGuardrailOptions<Type> {
  /** The models that `context.ask` may call, as `provider/model`. */
  models?: readonly ModelName[];
  /** Checks a message, an answer or a call. Runs in an activity of the worker, at least once. */
  check: (context: GuardrailContexts[Type]) => GuardrailAnswer | Promise<GuardrailAnswer>;
}

const OPTIONS: Record<keyof GuardrailOptions<'input'>, true> = {
  name: true,
  type: true,
  failOpen: true,
  timeout: true,
  models: true,
  check: true,
};

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const DEFAULT_TIMEOUT = '30s';

/** The longest time limits in milliseconds. A model call that has been paid for waits for the checks of its tool calls. */
const MOST_MS: Record<GuardrailType, number> = { input: 600_000, output: 600_000, tool_call: 30_000 };

/**
 * Defines a guardrail: a check of messages, answers or tool calls that can trip. Throws a UsageError for options that cannot work.
 *
 * @example
 * ```ts
 * const noPrices = defineGuardrail({
 *   name: 'no-prices',
 *   type: 'output',
 *   check: ({ text }) => (text.includes('€') ? { passed: false, message: 'The answer names a price' } : { passed: true }),
 * });
 * ```
 */
export function defineGuardrail<const Type extends GuardrailType>(options: GuardrailOptions<Type>): GuardrailDefinition<Type> {
  const { name, type, failOpen = false, timeout = DEFAULT_TIMEOUT, models = [], check } = options;
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new UsageError(`guardrail ${JSON.stringify(name) ?? 'without a name'}: use 1 to 64 letters, digits, "_" or "-" as "name"`);
  }
  const owner = `guardrail "${name}"`;
  requireKnown(owner, options, Object.keys(OPTIONS));
  if (!GUARDRAIL_TYPES.includes(type)) {
    throw new UsageError(`${owner}: "type" is ${JSON.stringify(type)}: write "input", "output" or "tool_call"`);
  }
  if (typeof check !== 'function') throw new UsageError(`${owner}: "check" is missing: write a function that returns {passed, message}`);
  if (typeof failOpen !== 'boolean') throw new UsageError(`${owner}: "failOpen" is ${JSON.stringify(failOpen)}: write true or false`);
  if (!Array.isArray(models)) throw new UsageError(`${owner}: "models" must be a list of texts such as "openai/gpt-5"`);
  const timeoutMs = timerMilliseconds(timeout, `${owner}: "timeout"`);
  if (timeoutMs < 1 || timeoutMs > MOST_MS[type]) {
    throw new UsageError(
      `${owner}: "timeout" is ${timeoutMs} ms: choose 1 ms to ${MOST_MS[type] / 1_000} s for a guardrail of type "${type}"`,
    );
  }
  return Object.freeze({
    kind: 'longhaul.guardrail',
    name,
    type,
    failOpen,
    timeoutMs,
    models: models.map((model, index) => modelName(owner, nonEmpty(`${owner}: "models[${index}]"`, model))),
    check: check,
  });
}
