import { randomUUID } from 'node:crypto';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import type { SessionHandle } from '../../client/session-handle.ts';
import type { SessionOptions } from '../../client/session-options.ts';
import type { StreamItemContent } from '../../client/stream/stream-item.ts';
import { errorCode, errorMessage, LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import type { ModelName } from '../../core/domain/model.ts';
import { isTerminal } from '../../core/domain/run.ts';
import { printable, printableLine, shellCommand } from '../../core/domain/text.ts';
import type { StatusView } from '../../core/protocol.ts';
import { serverOptions } from '../command.ts';
import type { ServerFlags } from '../define-command.ts';
import { EXIT_CODES, exitCodeOfResult, exitOfError } from '../exit-codes.ts';
import { sessionLimitOptions } from '../options.ts';
import type { Output } from '../output.ts';
import type { ChatFlags } from '../session-commands.ts';

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

/** Throws if the run with that id is not a session of the agent that continues. Before its first step, the messages to it tell. */
async function requireOpen(
  client: LonghaulClient,
  { runId, agentName, status, session, events }: StatusView,
  agent: string,
): Promise<void> {
  if (session === undefined && events > 0) throw new UsageError(`Run "${runId}" is not a session: choose another id for --session`);
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
    ...defined({ title, deps }),
    // Checked by the client.
    ...(model === undefined ? {} : { model: model as ModelName }),
    ...defined({ tags: tag }),
    ...(steps === undefined ? {} : { turnLimits: { steps } }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

/** The end of a session: the exit code of the chat, and the reason. */
export interface SessionEnd {
  exitCode: number;
  /** `is closed`, `was cancelled: …`, `has ended with an error (invalid_input): …`. */
  text: string;
  errorCode?: string;
}

/** Waits for the end of a session. Throws `run_not_found`, errors of the server, and the reason of the signal. */
export async function sessionEnd(run: Pick<RunHandle, 'result'>, signal?: AbortSignal): Promise<SessionEnd> {
  try {
    const result = await run.result(defined({ signal }));
    const { status, error, errorCode: code, cancelReason } = result;
    const exitCode = exitCodeOfResult(result);
    if (status === 'completed') return { exitCode, text: 'is closed' };
    if (status === 'cancelled') return { exitCode, text: `was cancelled${cancelReason === undefined ? '' : `: ${cancelReason}`}` };
    return { exitCode, ...errorEnd(code, error ?? status) };
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'run_terminated' && code !== 'run_timed_out') throw error;
    return { exitCode: EXIT_CODES[exitOfError(error)].code, ...errorEnd(code, errorMessage(error)) };
  }
}

function errorEnd(code: string | undefined, why: string): Pick<SessionEnd, 'text' | 'errorCode'> {
  return {
    text: `has ended with an error${code === undefined ? '' : ` (${code})`}: ${why}`,
    ...defined({ errorCode: code }),
  };
}

/** Says how a session has ended and how another one begins. */
export function saySessionEnd(
  { text, errorCode: code }: SessionEnd,
  { agent, ...flags }: ServerFlags & { agent: string },
  output: Output,
): void {
  output.note(output.look(code === undefined ? 'bold' : 'red', printable(`The session ${text}`)));
  const queue = flags.taskQueue === undefined ? [] : ['--task-queue', flags.taskQueue];
  const another = shellCommand('chat', { operands: [agent], options: [...queue, ...serverOptions(flags)], program: output.program });
  output.note(`${NEXT[code ?? ''] ?? 'To begin another one'}: ${printableLine(another)}`);
}

/** The next thing to do by the code of the error. */
const NEXT: Readonly<Record<string, string>> = {
  invalid_input: 'Begin another one with options that fit, such as --deps',
  unknown_agent: 'Start a worker that has the agent, or correct its name, and begin another one',
};
