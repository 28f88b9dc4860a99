import { randomUUID } from 'node:crypto';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { SessionHandle } from '../../../client/sessions/session-handle.ts';
import type { SessionOptions } from '../../../client/sessions/session-options.ts';
import { errorCode, LonghaulError, UsageError } from '../../../core/domain/errors/error.ts';
import type { ModelName } from '../../../core/domain/agent/model-name.ts';
import { isTerminal } from '../../../core/domain/run/status.ts';
import type { JsonObject } from '../../../core/domain/json/json.ts';
import type { StatusView } from '../../../core/protocol.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { withClient } from '../../with-client.ts';
import { type SessionLimitFlags, sessionLimitOptions } from '../session-limit-flags.ts';
import { pipedChat } from './piped-chat.ts';
import { typedChat } from './typed-chat.ts';

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
}

/**
 * Talks to a session, which goes on when the person leaves: on a terminal with prompts, decisions in place and interrupts; otherwise
 * line by line from stdin, with the answers on stdout.
 */
export async function chat(io: CommandIo, flags: ChatFlags): Promise<number> {
  const sessionId = flags.session ?? `${flags.agent}-${randomUUID()}`;
  return withClient(io, flags, async ({ client }) => {
    const status = flags.session === undefined ? undefined : await statusOf(client, sessionId);
    if (status !== undefined) requireOpen(status, flags.agent);
    const open = { client, session: client.session(flags.agent, { id: sessionId, ...startOptions(flags) }), status };
    const { interactive } = io.terminal;
    return interactive === undefined || io.output.json ? pipedChat(io, flags, open) : typedChat(io, flags, { ...open, interactive });
  });
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
function requireOpen({ runId, agentName, status, session, events }: StatusView, agent: string): void {
  if (session === undefined && events > 0) throw new UsageError(`Run "${runId}" is no session: choose another id for --session`);
  if (agentName !== agent) throw new UsageError(`Session "${runId}" is one of agent "${agentName}", not "${agent}"`);
  if (isTerminal(status))
    throw new LonghaulError('run_ended', `Session "${runId}" is closed (${status}): leave out --session to begin another one`);
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
