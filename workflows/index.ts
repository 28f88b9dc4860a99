export { agentRun } from './agent-run.ts';
export { type ChildOptions, runAgent, type RunAgentOptions } from './run-agent.ts';
export type { InlineEnd, InlineOptions, InlineRunOptions } from './run-inline.ts';
export type { RunCarry } from '../src/loop/run-carry.ts';
export { type CompletedRun, RunResult, type RunResultFields, type UnfinishedRun } from '../src/domain/run-result.ts';
export type { AnyAgent, DepsOf, DepsOption, GivenDepsOf, OutputOf, ResultOf } from '../src/define/agent-definition.ts';
export type { RunInput } from '../src/protocol.ts';
