import { randomUUID } from 'node:crypto';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { SessionHandle } from '../../../client/session-handle.ts';
import type { SessionOptions } from '../../../client/session-options.ts';
import type { StreamItemContent } from '../../../client/stream/stream-item.ts';
import { errorCode, LonghaulError, UsageError } from '../../../core/domain/errors.ts';
import type { ModelName } from '../../../core/domain/model.ts';
import { isTerminal } from '../../../core/domain/run.ts';
import type { JsonObject } from '../../../core/domain/json.ts';
import type { StatusView } from '../../../core/protocol.ts';
import type { ServerFlags } from '../../program/command.ts';
import { sessionEnd } from './session-end.ts';
import { type SessionLimitFlags, sessionLimitOptions } from '../session-limit-flags.ts';

/** The options of `longhaul chat`. */
export interface ChatFlags extends ServerFlags, SessionLimitFlags {
  agent: string;
  /** Default: the name of the agent and a UUID. */
  session?: string;
  title?: string;
  deps?: JsonObject;
  model?: string;
  tag?: string[];
  /** The limit of steps of each turn. */
  steps?: number;
}

/** A session to talk to, and its status if it has begun. */
export interface OpenChat {
  client: LonghaulClient;
  session: SessionHandle;
  status: StatusView | undefined;
  /** Returns the stream of a run from a service. Absent: none may have it. */
  live?: FollowLive;
}

/** Returns the items of a run's stream, until the signal is aborted. Does not reject. */
export type FollowLive = (runId: string, signal: AbortSignal) => AsyncIterable<StreamItemContent>;

/** Returns the session that the flags name, or a new one, which begins with its first message. Throws for a session that takes no messages of this chat. */
export async function openChat(client: LonghaulClient, flags: ChatFlags): Promise<OpenChat> {
  const sessionId = flags.session ?? `${flags.agent}-${randomUUID()}`;
  const status = flags.session === undefined ? undefined : await statusOf(client, sessionId);
  if (status !== undefined) await requireOpen(client, status, flags.agent);
  return { client, session: client.session(flags.agent, { id: sessionId, ...startOptions(flags) }), status };
}

async function statusOf(client: LonghaulClient, sessionId: string): Promise<StatusView | undefined> {
  try {
    return await client.handle(sessionId).status();
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return undefined;
    throw error;
  }
}

/** Throws if the run with that id is no session of the agent that goes on. Before its first step, the messages to it tell. */
async function requireOpen(
  client: LonghaulClient,
  { runId, agentName, status, session, events }: StatusView,
  agent: string,
): Promise<void> {
  if (session === undefined && events > 0) throw new UsageError(`Run "${runId}" is no session: choose another id for --session`);
  if (agentName !== agent) throw new UsageError(`Session "${runId}" is one of agent "${agentName}", not "${agent}"`);
  if (!isTerminal(status)) return;
  const { text } = await sessionEnd(client.handle(runId));
  throw new LonghaulError('run_ended', `Session "${runId}" ${text}. Leave out --session to begin another one`);
}

/** Returns the options with which the first message starts the session. */
function startOptions(flags: ChatFlags): Omit<SessionOptions, 'id'> {
  const { title, deps, model, tag, steps } = flags;
  const limits = sessionLimitOptions(flags);
  return {
    ...(title === undefined ? {} : { title }),
    ...(deps === undefined ? {} : { deps }),
    // Checked by the client.
    ...(model === undefined ? {} : { model: model as ModelName }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(steps === undefined ? {} : { turnLimits: { steps } }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}
