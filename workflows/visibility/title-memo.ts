import { upsertMemo, workflowInfo } from '@temporalio/workflow';
import { TITLE_MEMO } from '../../src/core/protocol.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';

/** Shows the title that a model call has given a session in lists. A title that a caller has given is in the memo from the start. */
export function publishTitle({ session }: RunState): void {
  if (session?.titled === undefined || workflowInfo().memo?.[TITLE_MEMO] === session.title) return;
  upsertMemo({ [TITLE_MEMO]: session.title });
}
