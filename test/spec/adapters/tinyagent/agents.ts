import type { Operation } from '../adapter.ts';
import { conversationOperations } from './conversation.ts';
import { finalizerRun } from './finalizer.ts';
import { scratchpadRun } from './scratchpad.ts';

/** Suite `tinyagent.agents`: agents that answer in text alone, and the parts that they are made of. */
export const tinyagentAgentOperations: Readonly<Record<string, Operation>> = {
  'finalizer.run': finalizerRun,
  'scratchpad.context': scratchpadRun,
  ...conversationOperations,
};
