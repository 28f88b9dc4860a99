import type { CodeLanguage } from '../../../src/core/domain/code.ts';
import type { SuiteAdapter } from './adapter.ts';
import { axonAnchorOperations, axonValidatorOperations, jsonTypeNames } from './axon-checks.ts';
import { axonExecutorOperations } from './axon-executor.ts';
import { axonRetrySuite } from './axon-retry.ts';
import { axonSupportOperations } from './axon-support.ts';
import { contextUpdateOperations } from './context-updates.ts';
import { danglingCallOperations } from './dangling-calls.ts';
import { executionContextSuite } from './execution-context.ts';
import { nousRuntimeOperations } from './nous-runtime.ts';
import { savedContextOperations } from './nous-saved-context.ts';
import { reactRunResultSuite } from './react-run-result.ts';
import { tinyagentAgentsSuite } from './tinyagent-agents.ts';
import { tinyagentExecutorOperations } from './tinyagent-executor.ts';

/**
 * The operations of the case files without a counterpart in the product, by suite, each with the reason. Their cases are
 * skipped.
 */
export const WITHOUT_COUNTERPART: Readonly<Record<string, Readonly<Record<string, string>>>> = {};

const TRANSLATED = new Map<string, Omit<SuiteAdapter, 'withoutCounterpart'>>([
  ['execution_context', executionContextSuite],
  ['react.run_result', reactRunResultSuite],
  ['nous.context_update', { operations: contextUpdateOperations }],
  ['nous.runtime', { operations: nousRuntimeOperations }],
  ['nous.serialization', { operations: savedContextOperations }],
  ['axon.anchors', { operations: axonAnchorOperations }],
  ['axon.retry_engine', axonRetrySuite],
  ['axon.semantic_validator', { operations: axonValidatorOperations, normalise: jsonTypeNames }],
  ['axon.support', { operations: axonSupportOperations }],
  ['nous.patch_dangling_tool_calls', { operations: danglingCallOperations }],
  ['axon.executor', { operations: axonExecutorOperations, normalise: jsonTypeNames }],
]);

/** The suites whose cases have programs in several languages. */
const WITH_PROGRAMS = new Map<string, (language: CodeLanguage) => Omit<SuiteAdapter, 'withoutCounterpart'>>([
  ['tinyagent.agents', tinyagentAgentsSuite],
  ['tinyagent.executor', (language) => ({ operations: tinyagentExecutorOperations(language) })],
]);

/** Returns the adapter of the suite of exactly that name, for the programs in a language, or undefined. */
export function findSuite(suite: string, language: CodeLanguage = 'javascript'): SuiteAdapter | undefined {
  const translated = TRANSLATED.get(suite) ?? WITH_PROGRAMS.get(suite)?.(language);
  const withoutCounterpart = Object.hasOwn(WITHOUT_COUNTERPART, suite) ? WITHOUT_COUNTERPART[suite] : undefined;
  if (translated === undefined && withoutCounterpart === undefined) return undefined;
  return { ...(translated ?? { operations: {} }), withoutCounterpart: withoutCounterpart ?? {} };
}

/** True for a suite whose cases differ by the language of their programs: the others would be replayed identically in every language. */
export function hasPrograms(suite: string): boolean {
  return WITH_PROGRAMS.has(suite);
}
