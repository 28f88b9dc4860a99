export { agentRun } from './agent-run.ts';
export { programRun } from './program-run.ts';
