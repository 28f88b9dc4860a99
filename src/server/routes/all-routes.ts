import { CHAT_ROUTES } from '../ai-sdk/chat-routes.ts';
import type { Route } from '../routing/route.ts';
import { CHANGE_RUN_ROUTES } from './runs/change-run.ts';
import { READ_RUN_ROUTES } from './runs/read-run.ts';
import { RUN_APPROVAL_ROUTES } from './runs/run-approvals.ts';
import { RUN_RECORD_ROUTES } from './runs/run-records.ts';
import { STREAM_ROUTES } from './stream-routes.ts';
import { startRunRoute } from './runs/start-run.ts';

/** The routes of the service that have a caller, in the order of the document. */
export const ROUTES: readonly Route[] = [
  startRunRoute,
  ...READ_RUN_ROUTES,
  ...RUN_RECORD_ROUTES,
  ...CHANGE_RUN_ROUTES,
  ...STREAM_ROUTES,
  ...RUN_APPROVAL_ROUTES,
  ...CHAT_ROUTES,
];
