import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import type { ContentPart } from '../../core/domain/content/content.ts';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { MessageMode } from '../../core/domain/record/queued-message.ts';
import { type MessageReceipt, type SendInput, UPDATES } from '../../core/protocol.ts';
import { messageProblem } from '../../core/wire-schemas/message-schema.ts';
import { updateRun, type UpdateOptions } from './run-update.ts';

/** How a message is sent. */
export interface SendOptions extends UpdateOptions {
  /** Your own, at most 64 characters: a message of the same id is taken once, however often it is sent. Default: a UUID. */
  id?: string;
  /**
   * When the model reads it: after the current step (`queue`, the default); before its next call, giving up calls that wait
   * or have not started (`steer`); at once, giving up the model call in flight as well (`interrupt`).
   */
  mode?: MessageMode;
}

/** Sends a message to a running run. Refuses what the run would refuse before anything is sent. */
export async function sendMessage(
  client: Client,
  runId: string,
  content: string | ContentPart[],
  options: SendOptions,
): Promise<MessageReceipt> {
  const { id = randomUUID(), mode, ...sending } = options;
  const message: SendInput = { id, content, ...(mode === undefined ? {} : { mode }) };
  const problem = messageProblem(message);
  if (problem !== undefined) throw new LonghaulError(problem.code, `The message to run "${runId}" was not sent: ${problem.message}`);
  // The same id everywhere: within one execution the server knows it, across executions the run does.
  return updateRun<MessageReceipt>(client, runId, { name: UPDATES.send, argument: message, id, updateId: `send ${id}` }, sending);
}
