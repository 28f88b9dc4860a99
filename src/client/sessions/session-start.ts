import { type Client, WithStartWorkflowOperation, type WorkflowStartOptions } from '@temporalio/client';
import {
  defineSearchAttributeKey,
  SearchAttributeType,
  type SearchAttributePair,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { SessionInput } from '../../core/domain/sessions/session-input.ts';
import { AGENT_RUN, type RunInput, SEARCH_ATTRIBUTES, TITLE_MEMO } from '../../core/protocol.ts';
import type { StartOperation } from '../updates/update.ts';

const SESSION = defineSearchAttributeKey(SEARCH_ATTRIBUTES.session, SearchAttributeType.KEYWORD);

/** Returns the search attribute by which lists know a session: the agent that it begins with. The server carries it over. */
export function sessionAttributes(agent: string): SearchAttributePair[] {
  return [{ key: SESSION, value: agent }];
}

/** Returns the memo of a session: the caller's, with its title. Unlike a search attribute, it is encrypted if payloads are. */
export function sessionMemo(
  memo: Record<string, unknown> | undefined,
  { title }: Pick<SessionInput, 'title'>,
): { memo?: Record<string, unknown> } {
  const whole = { ...memo, ...(title === undefined ? {} : { [TITLE_MEMO]: title }) };
  return Object.keys(whole).length === 0 ? {} : { memo: whole };
}

/** The type of the workflow, for the Temporal Client. */
type SessionWorkflow = (input: RunInput) => Promise<unknown>;

/** Returns the start of a session together with its first message. It can be used once: an attempt that is repeated needs another. */
export function startOfSession(options: WorkflowStartOptions<SessionWorkflow>): StartOperation {
  return new WithStartWorkflowOperation<SessionWorkflow>(AGENT_RUN, { ...options, workflowIdConflictPolicy: 'USE_EXISTING' });
}

/** Starts a session without a message. Throws `run_exists`. */
export async function startSession(client: Client, options: WorkflowStartOptions<SessionWorkflow>): Promise<void> {
  try {
    await client.workflow.start<SessionWorkflow>(AGENT_RUN, { ...options, workflowIdConflictPolicy: 'FAIL' });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    throw new LonghaulError('run_exists', `Session "${options.workflowId}" exists already: choose another id, or delete it first`);
  }
}
