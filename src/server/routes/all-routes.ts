import { CHAT_ROUTES } from '../protocols/ai-sdk/chat-routes.ts';
import type { Route } from '../routing/route.ts';
import { AGENT_ROUTES } from './agents.ts';
import { LIST_ROUTES } from './lists.ts';
import { PROGRAM_ROUTES } from './programs.ts';
import { CHANGE_RUN_ROUTES } from './runs/change-run.ts';
import { READ_RUN_ROUTES } from './runs/read-run.ts';
import { RUN_APPROVAL_ROUTES } from './runs/run-approvals.ts';
import { RUN_RECORD_ROUTES } from './runs/run-records.ts';
import { STREAM_ROUTES } from './stream-routes.ts';
import { tokenRoute } from './tokens.ts';
import { TOOL_ROUTES } from './tools.ts';
import { spilledRoute } from './runs/spilled.ts';
import { startRunRoute } from './runs/start-run.ts';
import { CHANGE_SESSION_ROUTES } from './sessions/change-session.ts';
import { openSessionRoute } from './sessions/open-session.ts';
import { TALK_ROUTES } from './sessions/talk.ts';
import { USER_ROUTES } from './users.ts';

/** The routes of the service that have a caller, in the order of the document. */
export const ROUTES: readonly Route[] = [
  startRunRoute,
  ...LIST_ROUTES,
  ...READ_RUN_ROUTES,
  ...RUN_RECORD_ROUTES,
  spilledRoute,
  ...CHANGE_RUN_ROUTES,
  ...STREAM_ROUTES,
  ...RUN_APPROVAL_ROUTES,
  openSessionRoute,
  ...TALK_ROUTES,
  ...CHANGE_SESSION_ROUTES,
  ...PROGRAM_ROUTES,
  ...AGENT_ROUTES,
  ...TOOL_ROUTES,
  tokenRoute,
  ...USER_ROUTES,
  ...CHAT_ROUTES,
];
