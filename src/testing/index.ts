/** `longhaul/testing`: agents in tests, in memory and on a server. Importing it does nothing. */
// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../require-node.ts';
export { callTool, failWith, hang, malformed, say, structured, together } from './script-entry.ts';
export type { ScriptedCall, ScriptedDetails, ScriptedReply, ScriptEntry } from './script-entry.ts';
export { scriptedModel } from './scripted-model.ts';
export type { ScriptedModel, ScriptedModelOptions } from './scripted-model.ts';
export { durableTest, startTestServer } from './durable-test.ts';
export type { TestServer } from './durable-test.ts';
export type { DurableTestOptions, ServerOptions } from './durable-test-options.ts';
export { testAgent } from './test-agent.ts';
export type { TestCircumstances, TestedRecord, TestedRun, TestedRunOf, TestOptions } from './tested-run.ts';
export type { RunOpening } from '../core/domain/run/opening.ts';
export { testProgram } from './test-program.ts';
export type { ProgramTestOptions, TestedProgram } from './tested-program.ts';
export { isUndecidedRun, UndecidedRun } from './undecided-run.ts';
export { approve, reject, respond } from './decisions.ts';
export type { Decide, TestDecision, Waiting } from './decisions.ts';
export { cancelRun, raiseLimits, sendMessage, setPermissions } from './meanwhile.ts';
export type { Moment, Occurrence } from './meanwhile.ts';
export { delay, disconnect, dropCompletion, killWorker, rateLimit, slowQueries } from './faults.ts';
export type { CallPosition, Fault } from './faults.ts';
export { effectsLedger } from './effects-ledger.ts';
export type { Effect, EffectsLedger } from './effects-ledger.ts';
export { assertRequest, assertSameRun, assertTimeline, type ExpectedLine } from './assertions.ts';
export { timelineOf } from './timeline.ts';
export { withoutIdsAndTimes, type ComparableRun } from './comparable.ts';
export { forbidRealModels, type ForbidOptions } from '../model/real-models.ts';
