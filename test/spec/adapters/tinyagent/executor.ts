import { createExecutor, type StandaloneExecutor } from '../../../../activities/executors/create-executor.ts';
import { type CodeLanguage, executionLimits, truncateOutput } from '../../../../src/core/domain/code.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import { newExecutionResult } from '../../../../src/core/domain/execution.ts';
import { python, quickjs } from '../../../../src/define/code.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, number, object, only, text } from '../fields.ts';
import { LIMIT_KEYS, RESULT_KEYS, toOurLimits, toOurResultFields, toTheirLimits, toTheirResult } from './execution-notation.ts';

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
