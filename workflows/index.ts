export { agentRun } from './agent-run.ts';
export { type ChildOptions, runAgent, type RunAgentOptions } from './run-agent.ts';
export type { InlineEnd, InlineOptions, InlineRunOptions } from './run-inline.ts';
export type { ContinueAsNewState } from '../src/core/loop/state/continue-as-new-state.ts';
export { type CompletedRun, RunResult, type RunResultFields, type UnfinishedRun } from '../src/core/domain/run/result.ts';
export type { AnyAgent, DepsOf, DepsOption, GivenDepsOf, OutputOf, ResultOf } from '../src/define/agent-definition.ts';
export type { RunOpening } from '../src/core/domain/run/opening.ts';
export type { RunAgentInput } from './run/input.ts';
export type { RunInput } from '../src/core/protocol.ts';
