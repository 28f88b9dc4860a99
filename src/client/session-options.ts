import type { ContentItem } from '../core/domain/content.ts';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import type { LimitOptions, SessionLimits } from '../core/domain/limits.ts';
import type { SessionInput } from '../core/domain/run-input.ts';
import type { Principal } from '../core/domain/run.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import type { MessageReceipt } from '../core/protocol.ts';
import type { SavedContext } from '../core/saved/saved-context.ts';
import type { DepsOption } from '../define/agent-definition.ts';
import { SESSION_START_OPTIONS, type SessionStart } from './start-workflow.ts';

/** The limits of a whole session. The agent's own hold for each turn. `null`: no limit. */
export interface SessionLimitOptions extends Omit<SessionLimits, 'deadlineMs'> {
  /** From the start of the session. */
  deadline?: Duration | null;
}

/** The options of a session without its deps. Those besides `id` count when the first message starts it. */
export interface SessionSettings extends SessionStart {
  /** Identifies the session: choose it yourself, one for each conversation. */
  id: string;
  /** The user that the session acts for: short for `principal: {user}`. */
  user?: string;
  /** Limits of the whole session. Default: 200,000 tokens, and no limit of turns. */
  limits?: SessionLimitOptions;
  /** Limits of each turn, in place of the agent's. */
  turnLimits?: LimitOptions;
  /** The number of turns after which the conversation is compacted. Default 20; `null`: only if its window is full. */
  compactAfter?: number | null;
  /** Shown in lists. */
  title?: string;
  /** True: if there is no title, a model call after the first answer makes one. Its usage counts in the session, and in no turn. */
  generateTitle?: boolean;
  /** `never`: the agent stays as it was when the session began. */
  refresh?: 'never';
  /** The conversation before the first message. */
  messages?: readonly ContentItem[];
  /** Instead, a saved context, as `save` returned it: with its deps, which those of the session override. */
  saved?: SavedContext;
}

/** The options of a session. */
export type SessionOptions<GivenDeps = unknown> = SessionSettings & DepsOption<GivenDeps>;

/** All options by name: the compiler reports one that is added to the type and missing here. */
export const SESSION_OPTIONS: Record<keyof SessionSettings | 'deps', true> = {
  ...SESSION_START_OPTIONS,
  id: true,
  user: true,
  limits: true,
  turnLimits: true,
  compactAfter: true,
  title: true,
  generateTitle: true,
  refresh: true,
  messages: true,
  saved: true,
  deps: true,
};

/** Returns what the input of a run says about its session. */
export function sessionInput({ limits, compactAfter, title, generateTitle = false, refresh }: SessionSettings): SessionInput {
  return {
    ...(limits === undefined ? {} : { limits: plainSessionLimits(limits) }),
    ...defined({ compactAfter }),
    ...(title === undefined ? (generateTitle ? { generateTitle: true as const } : {}) : { title }),
    ...defined({ refresh }),
  };
}

/** Returns the limits of a session with its deadline in milliseconds. */
export function plainSessionLimits({ deadline, ...limits }: SessionLimitOptions): SessionLimits {
  if (deadline === undefined) return limits;
  return { ...limits, deadlineMs: deadline === null ? null : timerMilliseconds(deadline, 'the session: "limits.deadline"') };
}

/** Returns the principal of a session. Throws a UsageError if two options contradict each other. */
export function principalOf({ user, principal }: Pick<SessionSettings, 'user' | 'principal'>): Principal | undefined {
  if (user === undefined) return principal;
  if (principal?.user !== undefined && principal.user !== user) {
    throw new UsageError(`the session: "user" is "${user}" and "principal.user" is "${principal.user}": give one of them`);
  }
  return { ...principal, user };
}

/** Returns the number of the turn that answers a message. Throws `invalid_input` for a message to a run that is no session. */
export function answeringTurn(sessionId: string, { id, turn }: Pick<MessageReceipt, 'id' | 'turn'>): number {
  if (turn !== undefined) return turn;
  throw new LonghaulError(
    'invalid_input',
    `No turn answers message "${id}": run "${sessionId}" is not a session, or another request had that id. Read the run by its handle, or send the message under another id`,
  );
}
