import type { FoundSuite } from '../replay.ts';
import { contextUpdateSuite } from './context-updates.ts';
import { danglingCallsSuite } from './dangling-calls.ts';
import { executionContextSuite } from './execution-context.ts';
import { nousRuntimeSuite } from './nous-runtime.ts';
import { reactRunResultSuite } from './react-run-result.ts';

const SUITES = new Map([
  ['execution_context', executionContextSuite],
  ['react.run_result', reactRunResultSuite],
  ['nous.context_update', contextUpdateSuite],
  ['nous.runtime', nousRuntimeSuite],
  ['nous.patch_dangling_tool_calls', danglingCallsSuite],
]);

/** Suites of features that are not built, by the first part of their name. */
const NOT_BUILT = [
  { family: 'nous.', reason: 'sessions and their serialized form are not built' },
  { family: 'axon.', reason: 'programs, anchors, validators, refinement and traces are not built' },
  { family: 'tinyagent.', reason: 'code executors and the code agent are not built' },
];

/** How the suite of that name is replayed. */
export function findSuite(suite: string): FoundSuite {
  const adapter = SUITES.get(suite);
  if (adapter !== undefined) return { type: 'adapter', adapter };
  const reason = NOT_BUILT.find(({ family }) => suite.startsWith(family))?.reason;
  return reason === undefined ? undefined : { type: 'not_built', reason };
}
