import { createExecutor, type StandaloneExecutor } from '../../../activities/executors/create-executor.ts';
import { type CodeLanguage, type ExecutionLimits, executionLimits, truncateOutput } from '../../../src/core/domain/code.ts';
import { type ExecutionResult, newExecutionResult } from '../../../src/core/domain/execution.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { python, quickjs } from '../../../src/define/code.ts';
import { CaseProblem, flag, list, number, object, only, type Operation, text } from './adapter.ts';

/** The keys of limits in the notation of the cases. */
const LIMIT_KEYS = ['timeout_seconds', 'max_memory_mb', 'max_output_bytes', 'max_steps'];

/** Translates limits; a case may leave out any of them. */
export function toOurLimits(limits: JsonValue | undefined): Partial<ExecutionLimits> {
  const { timeout_seconds, max_memory_mb, max_output_bytes, max_steps } = only('The limits', limits ?? {}, LIMIT_KEYS);
  return {
    ...(timeout_seconds === undefined ? {} : { timeoutSeconds: number(timeout_seconds, 0) }),
    ...(max_memory_mb === undefined ? {} : { maxMemoryMb: number(max_memory_mb, 0) }),
    ...(max_output_bytes === undefined ? {} : { maxOutputBytes: number(max_output_bytes, 0) }),
    ...(max_steps === undefined ? {} : { maxSteps: number(max_steps, 0) }),
  };
}

/** Returns limits in the notation of the cases. */
function toTheirLimits(limits: ExecutionLimits): JsonObject {
  return {
    timeout_seconds: limits.timeoutSeconds,
    max_memory_mb: limits.maxMemoryMb,
    max_output_bytes: limits.maxOutputBytes,
    max_steps: limits.maxSteps,
  };
}

/** The keys of a result in the notation of the cases. */
const RESULT_KEYS = [
  'output',
  'is_final',
  'duration_ms',
  'memory_used_bytes',
  'error',
  'error_kind',
  'timeout',
  'final_value',
  'namespace',
  'success',
];

/** Translates the fields of a result that a case gives. An error of a case is its text alone. */
function toOurResultFields(fields: JsonObject): Partial<Omit<ExecutionResult, 'success'>> {
  const { output, is_final, duration_ms, memory_used_bytes, error, timeout, final_value, namespace } = fields;
  return {
    ...(output === undefined ? {} : { output: text(output) }),
    ...(is_final === undefined ? {} : { isFinal: flag(is_final) }),
    ...(duration_ms === undefined ? {} : { durationMs: number(duration_ms, 0) }),
    ...(memory_used_bytes === undefined ? {} : { memoryUsedBytes: number(memory_used_bytes, 0) }),
    ...(typeof error === 'string' ? { error: { kind: 'runtime', message: error } } : {}),
    ...(timeout === undefined ? {} : { timeout: flag(timeout) }),
    ...(final_value === undefined ? {} : { finalValue: final_value }),
    ...(namespace === undefined
      ? {}
      : { namespace: Object.fromEntries(Object.entries(object(namespace)).map(([name, value]) => [name, { type: typeof value, value }])) }),
  };
}

/** Returns a result in the notation of the cases. */
function toTheirResult(result: ExecutionResult): JsonObject {
  return {
    output: result.output,
    is_final: result.isFinal,
    duration_ms: result.durationMs,
    memory_used_bytes: result.memoryUsedBytes,
    error: result.error?.message ?? null,
    error_kind: result.error?.kind ?? null,
    timeout: result.timeout,
    final_value: result.finalValue,
    namespace: Object.fromEntries(Object.entries(result.namespace).map(([name, { value = null }]) => [name, value])),
    success: result.success,
    emptied_by: result.emptiedBy,
  };
}

/** The executors that the programs of the cases are for. */
const EXECUTORS = { javascript: quickjs, python };

/** Suite `tinyagent.executor`, with the rendering of the programs in one language. */
export function tinyagentExecutorOperations(language: CodeLanguage): Readonly<Record<string, Operation>> {
  return {
    'exec.session': {
      input: ['allowed_imports', 'limits', 'do'],
      expect: ['results'],
      perform: (input, expect) => session(language, input, expect),
    },
    'exec.protocol': { input: [], expect: ['implements', 'methods'], perform: (_, expect) => protocol(language, expect) },
    'exec.limits': { input: LIMIT_KEYS, expect: LIMIT_KEYS, perform: (input) => toTheirLimits(executionLimits(toOurLimits(input))) },
    'exec.truncate': {
      input: ['text', 'max_output_bytes'],
      expect: ['text', 'truncated'],
      perform: (input) => truncateOutput(text(input['text']), number(input['max_output_bytes'], 0)),
    },
    'exec.result_defaults': {
      input: RESULT_KEYS,
      expect: RESULT_KEYS,
      perform: (input) => toTheirResult(newExecutionResult(toOurResultFields(input))),
    },
  };
}

/** Makes the executor of a case with its limits. */
function open(language: CodeLanguage, { allowed_imports, limits }: JsonObject): Promise<StandaloneExecutor> {
  return createExecutor(
    EXECUTORS[language]({ allowedImports: list(allowed_imports).map((name) => text(name)), limits: toOurLimits(limits) }),
  );
}

async function session(language: CodeLanguage, input: JsonObject, expect: JsonValue): Promise<JsonObject> {
  const executor = await open(language, input);
  const expected = isJsonObject(expect) ? list(expect['results']) : [];
  const results: JsonObject[] = [];
  try {
    for (const action of list(input['do']).map(object)) {
      const result = await act(executor, language, action, results.length);
      if (result !== undefined) results.push(withNames(result, expected[results.length]));
    }
  } finally {
    await executor.close();
  }
  return { results };
}

/** Performs one action of a session. Only a run has a result. */
async function act(executor: StandaloneExecutor, language: CodeLanguage, action: JsonObject, run: number): Promise<JsonObject | undefined> {
  const { run: programs, inject, reset, kill } = only('An action', action, ['run', 'inject', 'reset', 'kill']);
  if (programs !== undefined) {
    const code = only('A program', programs, ['python', 'javascript'])[language];
    if (code === undefined) throw new CaseProblem(`The case has no program in ${language}`);
    return toTheirResult(await executor.run(text(code), { now: 0, seed: run }));
  }
  if (inject !== undefined) {
    const { name, value = null } = only('An injection', inject, ['name', 'value']);
    executor.inject(text(name), value);
  } else if (reset === true) await executor.reset();
  else if (kill === true) await executor.kill();
  else throw new CaseProblem(`The case has an action that the adapter does not know: ${JSON.stringify(action)}`);
  return undefined;
}

/** Adds the names that a case looks for and the namespace has, and those that it must lack and lacks. */
function withNames(result: JsonObject, expected: JsonValue | undefined): JsonObject {
  const { has, lacks } = isJsonObject(expected) ? expected : {};
  const isInNamespace = (name: JsonValue): boolean => Object.hasOwn(object(result['namespace']), text(name));
  return { ...result, has: list(has).filter(isInNamespace), lacks: list(lacks).filter((name) => !isInNamespace(name)) };
}

const METHODS = ['run', 'kill', 'inject', 'reset'] as const;

/** The methods of an executor as a list of their names, in the order of the case, or as a truth value if the case asks for one. */
async function protocol(language: CodeLanguage, expect: JsonValue): Promise<JsonObject> {
  const executor = await open(language, {});
  const own = METHODS.filter((name) => typeof executor[name] === 'function');
  await executor.close();
  const { implements: asked, methods } = isJsonObject(expect) ? expect : {};
  return {
    implements: Array.isArray(asked) ? inOrderOf(asked, own) : own.length === METHODS.length,
    methods: inOrderOf(list(methods), own),
  };
}

function inOrderOf(order: readonly JsonValue[], names: readonly string[]): string[] {
  const listed = order.filter((name): name is string => typeof name === 'string' && names.includes(name));
  return [...listed, ...names.filter((name) => !order.includes(name))];
}
