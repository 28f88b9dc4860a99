import type { Conversation } from '../conversation.ts';
import { AGENTS } from './agents.ts';
import { ANSWERS } from './answers.ts';
import { CALLS } from './calls.ts';
import { FAILURES } from './failures.ts';
import { ORDERS } from './orders.ts';
import { SESSIONS } from './sessions.ts';

/** The conversations that are held with every family. */
export const CONVERSATIONS: readonly Conversation[] = [...ANSWERS, ...CALLS, ...FAILURES, ...ORDERS, ...AGENTS, ...SESSIONS];
