import { ERROR_CODES, type ErrorCode, errorMessage, UsageError } from '../../../src/core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { RefineDocument } from '../../../src/core/domain/program-document.ts';
import {
  type AttemptOutcome,
  type Backoff,
  delayAfter,
  failedAttempt,
  failureAfterAttempts,
  fallbackOf,
  makeAttempts,
  resolveRefine,
} from '../../../src/core/program/refine.ts';
import {
  errorLevel,
  formatError,
  type GivenErrorContext,
  newStepError,
  seedNameOf,
  type StepError,
  type StepErrorContext,
} from '../../../src/core/program/step-errors.ts';
import { list, number, only, type SuiteAdapter, text } from './adapter.ts';
import { mapTexts } from './wording.ts';

/** The names of the fields of a context, and what the cases call them. */
export const CONTEXT_NAMES: readonly [keyof StepErrorContext, string][] = [
  ['step', 'step_name'],
  ['unit', 'flow_name'],
  ['attempt', 'attempt'],
  ['expectedType', 'expected_type'],
  ['actualValue', 'actual_value'],
  ['anchorName', 'anchor_name'],
  ['details', 'details'],
];

/** The fields of a context as the cases call them. */
export const CONTEXT_KEYS = CONTEXT_NAMES.map(([, name]) => name);

/** Returns the context of a case in the words of the product. */
export function contextOf(input: JsonObject): GivenErrorContext {
  return Object.fromEntries(CONTEXT_NAMES.flatMap(([field, name]) => (input[name] === undefined ? [] : [[field, input[name]]])));
}

/** Returns the failure of a step with the name that a case gives; undefined if it is not the name of such a failure. */
export function namedError(name: string, message: string, context: JsonValue | undefined): StepError | undefined {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  const code = codes.find((one) => 'level' in ERROR_CODES[one] && seedNameOf(one) === name);
  return code === undefined ? undefined : newStepError(code, message, contextOf(only('The context', context ?? {}, CONTEXT_KEYS)));
}

const CONFIG = ['max_attempts', 'pass_failure_context', 'backoff', 'on_exhaustion', 'on_exhaustion_target'];

/** Suite `axon.retry_engine`: the attempts of a step. */
export const axonRetrySuite: Omit<SuiteAdapter, 'withoutCounterpart'> = {
  operations: {
    'retry.delay': {
      input: ['strategy', 'attempt'],
      expect: [],
      perform: ({ strategy, attempt }) => delayAfter(number(attempt, 0), text(strategy) as Backoff) / 1_000,
    },
    'retry.config': { input: CONFIG, expect: ['config', 'error'], perform: config },
    'retry.execute': {
      input: ['config', 'behaviour', 'step_name', 'flow_name'],
      expect: ['success', 'result', 'attempts', 'exhausted', 'contexts', 'raises', 'fallback_target'],
      perform: execute,
    },
  },
  // The product names its own fields.
  normalise: (expect) => mapTexts(expect, (said) => said.replace(/^max_attempts must/, 'maxAttempts must')),
};

function config(input: JsonObject): JsonObject {
  try {
    const { maxAttempts, passFailureContext, backoff, onExhaustion, fallback = '' } = resolveRefine(refineOf(input));
    return {
      config: {
        max_attempts: maxAttempts,
        pass_failure_context: passFailureContext,
        backoff,
        on_exhaustion: onExhaustion === 'fail' ? '' : onExhaustion,
        on_exhaustion_target: fallback,
      },
    };
  } catch (error) {
    if (error instanceof UsageError) return { error: errorMessage(error) };
    throw error;
  }
}

/** The fields of the case as fields of a document. The case writes an empty text for an absent one. */
export function refineOf(input: JsonObject): RefineDocument {
  const { max_attempts, pass_failure_context, backoff, on_exhaustion, on_exhaustion_target } = only('The configuration', input, CONFIG);
  const fields = {
    maxAttempts: max_attempts,
    passFailureContext: pass_failure_context,
    backoff,
    onExhaustion: on_exhaustion === '' ? undefined : on_exhaustion,
    fallback: on_exhaustion_target === '' ? undefined : on_exhaustion_target,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

async function execute(input: JsonObject, expect: JsonValue): Promise<unknown> {
  const place = { step: text(input['step_name']), unit: text(input['flow_name']) };
  const resolved = resolveRefine(isJsonObject(input['config']) ? refineOf(input['config']) : undefined);
  const behaviour = list(input['behaviour']);
  const contexts: (string | null)[] = [];
  const result = await makeAttempts<JsonValue>({
    config: resolved,
    attempt: (failureContext, attempt) => {
      contexts.push(failureContext ?? null);
      return Promise.resolve(outcomeOf(behaviour[Math.min(attempt, behaviour.length) - 1]));
    },
    wait: () => Promise.resolve({ type: 'waited' }),
  });
  const attempts = result.attempts.map((one) =>
    one.success ? one : { attempt: one.attempt, success: false, error: one.error, error_type: one.errorType },
  );
  const failure = failureAfterAttempts(result, resolved, place);
  const target = result.exhausted ? fallbackOf(resolved) : undefined;
  return {
    ...result,
    attempts,
    contexts,
    fallback_target: target ?? null,
    ...(failure === undefined ? {} : { raises: raised(failure, expect) }),
  };
}

function outcomeOf(behaviour: JsonValue | undefined): AttemptOutcome<JsonValue> {
  const { ok, throw: thrown } = only('An attempt', behaviour, ['ok', 'throw']);
  if (thrown === undefined) return { type: 'succeeded', result: ok ?? null };
  const { type, message, context } = only('An error', thrown, ['type', 'message', 'context']);
  const error = namedError(text(type), text(message), context);
  return error === undefined ? { type: 'failed', error: text(message), errorType: text(type) } : failedAttempt(error);
}

/** Shows an error in the notation of the case: its name, its message, its whole text, or an object with all of them. */
function raised(error: StepError, expect: JsonValue): unknown {
  const notation = isJsonObject(expect) ? expect['raises'] : undefined;
  const name = seedNameOf(error.code);
  const { message, context } = error;
  if (notation === true) return true;
  if (typeof notation === 'string') {
    if (notation.startsWith('[L')) return formatError(error);
    return notation.includes(' ') ? message : name;
  }
  if (isJsonObject(notation) && Object.keys(notation).some((key) => key.startsWith('$'))) return formatError(error);
  return { type: name, error_type: name, level: errorLevel(error.code), message, text: formatError(error), ...context };
}
