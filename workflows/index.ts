export { agentRun } from './agent-run.ts';
export { runAgent, type RunAgentOptions } from './run-agent.ts';
export type { InlineEnd, InlineOptions } from './run-inline.ts';
export type { RunCarry } from '../src/loop/run-carry.ts';
export { RunResult, type RunResultFields } from '../src/domain/run-result.ts';
export type { AnyAgent, DepsOf, OutputOf } from '../src/define/agent-definition.ts';
export type { RunInput } from '../src/protocol.ts';
