import { z } from 'zod';
import { component } from './component.ts';
import { inputContent } from './content.ts';
import { ignoredBy, agentNameText, requestIdText, version } from './json.ts';
import { messageMode, messageReceipt } from './run-requests.ts';
import { statusView } from './run-views.ts';
import { sessionLimits } from './start-requests.ts';

const by = ignoredBy.exactOptional();

/** The body of a message to a session. */
export const sessionMessageBody = component(
  'SendSessionMessage',
  z.strictObject({
    content: inputContent,
    mode: messageMode.exactOptional(),
    id: requestIdText.exactOptional(),
    agent: agentNameText
      .exactOptional()
      .describe('The agent with which the session begins if there is none of that id. Default: that is refused.'),
  }),
);

/** The answer while a turn goes on. */
export const turnRunning = component(
  'TurnRunning',
  z.object({
    sessionId: z.string(),
    turn: z.number().describe('The turn that answers: ask for it again.'),
    receipt: messageReceipt.exactOptional(),
    session: statusView.exactOptional(),
  }),
);

/** The body of an interruption. */
export const interruptBody = component(
  'InterruptTurn',
  z.strictObject({ turn: z.int().min(1).exactOptional(), reason: z.string().exactOptional(), by }),
);

/** The answer to an interruption. */
export const interruptReceipt = component(
  'InterruptReceipt',
  z.object({ version, interrupted: z.boolean(), turn: z.number().exactOptional() }),
);

/** The answer to a reset or a refresh. */
export const beforeTurnReceipt = component('BeforeTurnReceipt', z.object({ version, beforeTurn: z.number() }));

/** The answer to the end of a session. */
export const closeReceipt = component('CloseReceipt', z.object({ version, turn: z.number().exactOptional() }));

/** The body of a raise of limits of a session. */
export const raiseSessionBody = component(
  'RaiseSessionLimits',
  z.strictObject({ limits: sessionLimits, id: requestIdText.exactOptional(), by }),
);
