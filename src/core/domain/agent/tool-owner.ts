import type { AgentSnapshot } from './agent-snapshot.ts';

/** The owner of the tools of a run: an agent of the worker by its name, or the worker itself, which has tools for programs. */
export interface ToolOwner {
  agentName: string;
  /** The tools are those that the worker has for programs. An agent may have the same name as a program. */
  ofProgram?: true;
}

/** Returns the owner of the tools of a run. */
export function toolOwner({ name, program, checks }: Pick<AgentSnapshot, 'name' | 'program' | 'checks'>): ToolOwner {
  return { agentName: name, ...(program === undefined && checks === undefined ? {} : { ofProgram: true }) };
}
