import type { SuiteAdapter } from './adapter.ts';
import { contextUpdateOperations } from './context-updates.ts';
import { danglingCallOperations } from './dangling-calls.ts';
import { executionContextSuite } from './execution-context.ts';
import { nousRuntimeOperations } from './nous/runtime.ts';
import { reactRunResultSuite } from './react-run-result.ts';
import { WITHOUT_COUNTERPART } from './without-counterpart.ts';

const TRANSLATED = new Map<string, Omit<SuiteAdapter, 'withoutCounterpart'>>([
  ['execution_context', executionContextSuite],
  ['react.run_result', reactRunResultSuite],
  ['nous.context_update', { operations: contextUpdateOperations }],
  ['nous.runtime', { operations: nousRuntimeOperations }],
  ['nous.patch_dangling_tool_calls', { operations: danglingCallOperations }],
]);

/** Returns the adapter of the suite of exactly that name; undefined if there is none. */
export function findSuite(suite: string): SuiteAdapter | undefined {
  const translated = TRANSLATED.get(suite);
  const withoutCounterpart = Object.hasOwn(WITHOUT_COUNTERPART, suite) ? WITHOUT_COUNTERPART[suite] : undefined;
  if (translated === undefined && withoutCounterpart === undefined) return undefined;
  return { ...(translated ?? { operations: {} }), withoutCounterpart: withoutCounterpart ?? {} };
}
