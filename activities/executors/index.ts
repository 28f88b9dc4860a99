/** `longhaul/executors`: runs isolated code without an agent and without Temporal, and has the types for custom executors. */
// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../../src/node-version/require-node.ts';
export { createExecutor, type StandaloneExecutor } from './create-executor.ts';
export type { CreateOwnExecutor, ExecutorDefinition, OwnExecutorSettings } from '../../src/define/code.ts';
export type { Scratchpad } from '../../src/core/domain/code.ts';
export type { JsonObject, JsonValue } from '../../src/core/domain/json.ts';
export type { ExecutionLimits } from '../../src/core/domain/code.ts';
export {
  type ExecutionError,
  type ExecutionErrorKind,
  type ExecutionResult,
  type NamespaceEntry,
  newExecutionResult,
} from '../../src/core/domain/execution.ts';
export type { CodeCall, CodeCallResult, CodeTool, Executor, Moment, Segment } from '../../src/core/domain/execution.ts';
