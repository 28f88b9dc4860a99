import type { SessionOptions } from '../../../client/session-options.ts';
import type { Caller } from '../../auth/caller.ts';

/** The options of the session of a chat that the service may set. A client sets none. */
export type ChatSessionOptions = Omit<SessionOptions, 'id' | 'user' | 'principal' | 'messages' | 'saved'>;

/** Returns the options of the session that the first message of a chat starts: its limits, deps, title and so on. */
export type ChatSessions = (chat: { agent: string; caller: Caller }) => ChatSessionOptions;
