/** `longhaul/testing`: agents in tests, in memory and on a server. Importing it does nothing. */
// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../node-version/require-node.ts';
export {
  callTool,
  failWith,
  hang,
  malformed,
  say,
  type ScriptedCall,
  type ScriptedDetails,
  scriptedModel,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedReply,
  type ScriptEntry,
  structured,
  together,
} from './scripted-model.ts';
export {
  type ScriptedCode,
  type ScriptedExecution,
  scriptedExecutor,
  type ScriptedExecutor,
  type ScriptedExecutorOptions,
} from './scripted-executor.ts';
export { durableTest, startTestServer, testAgent, testProgram, type TestServer } from './test-agent.ts';
export {
  type DurableTestOptions,
  type Effect,
  effectsLedger,
  type EffectsLedger,
  isUndecidedRun,
  type ProgramTestOptions,
  type ServerOptions,
  type TestCircumstances,
  type TestedProgram,
  type TestedRecord,
  type TestedRun,
  type TestedRunOf,
  type TestOptions,
  UndecidedRun,
} from './tested-run.ts';
export type { ModelsByName, TestModel } from './harness/test-models.ts';
export type { RunOpening } from '../core/domain/run-input.ts';
export {
  approve,
  type CallPosition,
  cancelRun,
  type Decide,
  delay,
  disconnect,
  dropCompletion,
  type Fault,
  killWorker,
  type Moment,
  type Occurrence,
  raiseLimits,
  rateLimit,
  reject,
  respond,
  type RunInMemory,
  sendMessage,
  slowQueries,
  type TestDecision,
  type Waiting,
} from './test-plan.ts';
export { setPermissions } from './set-permissions.ts';
export {
  assertRequest,
  assertSameRun,
  assertTimeline,
  type ComparableRun,
  type ComparedRun,
  type ExpectedLine,
  timelineOf,
  withoutIdsAndTimes,
} from './assertions.ts';
export { forbidRealModels, type ForbidOptions } from '../model/forbid-models.ts';
export { type ConformanceCase, memoryStoreConformance } from '../memory/memory-store-conformance.ts';
export { type StreamSinkCase, streamSinkConformance, type TestedSink } from '../streams/stream-sink-conformance.ts';
