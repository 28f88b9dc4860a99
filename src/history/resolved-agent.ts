import { splitResolved } from '../core/activity-requests/resolve-request.ts';
import { withDocument } from '../core/domain/agent/agent-document.ts';
import type { AgentSnapshot } from '../core/domain/agent/agent-snapshot.ts';
import type { ResolveAgentOutput } from '../core/protocol.ts';
import type { RecordedExecution } from './recorded-execution.ts';

/** Returns the agent that the first activity of a run has resolved, with what its parent has answered, and the document that came with the input of the run. */
export function resolvedAgent(
  execution: Pick<RecordedExecution, 'input' | 'program'>,
  output: ResolveAgentOutput,
  task: number,
): NonNullable<RecordedExecution['resolved']> {
  const { snapshot, ...beside } = splitResolved(output);
  return { snapshot: withOwnDocument(execution, snapshot), ...beside, task };
}

function withOwnDocument(
  { input, program: ofProgram }: Pick<RecordedExecution, 'input' | 'program'>,
  snapshot: AgentSnapshot,
): AgentSnapshot {
  const program = ofProgram?.program;
  if (input?.document !== undefined) return withDocument(snapshot, input.document);
  return program === undefined || typeof program === 'string' ? snapshot : { ...snapshot, program };
}
