import { getClient } from '@temporalio/activity';
import { type ChildInputAnswer, type ChildInputQuestion, QUERIES, type ResolveAgentInput } from '../../src/core/protocol.ts';
import { queryHandle } from './access.ts';

/** Asks the parent of a run for the input and the deps of its call, as far as they are not in the input of the run. */
export async function openingOfCall({
  runId,
  eventId,
  index,
  ...parts
}: NonNullable<ResolveAgentInput['ofCall']>): Promise<ChildInputAnswer> {
  // The newest execution has the call for as long as the child runs.
  const handle = getClient().workflow.getHandle(runId);
  const question: ChildInputQuestion = { eventId, index };
  const { input, deps } = await queryHandle(QUERIES.childInput, () =>
    handle.query<ChildInputAnswer, [ChildInputQuestion]>(QUERIES.childInput, question),
  );
  return {
    ...(parts.input && input !== undefined ? { input } : {}),
    ...(parts.deps && deps !== undefined ? { deps } : {}),
  };
}
