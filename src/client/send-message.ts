import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import type { ContentPart } from '../domain/content.ts';
import { LonghaulError } from '../domain/error.ts';
import { type MessageReceipt, type SendInput, UPDATES } from '../protocol.ts';
import { messageProblem } from '../schema/message-schema.ts';
import { updateRun, type UpdateOptions } from './run-update.ts';

/** How a message is sent. */
export interface SendOptions extends UpdateOptions {
  /** Your own, at most 64 characters: a message of the same id is taken once, however often it is sent. Default: a UUID. */
  id?: string;
}

/** Sends a message to a running run. Refuses what the run would refuse before anything is sent. */
export async function sendMessage(
  client: Client,
  runId: string,
  content: string | ContentPart[],
  options: SendOptions,
): Promise<MessageReceipt> {
  const message: SendInput = { id: options.id ?? randomUUID(), content };
  const problem = messageProblem(message);
  if (problem !== undefined) throw new LonghaulError(problem.code, `The message to run "${runId}" was not sent: ${problem.message}`);
  // The same id everywhere: within one execution the server knows it, across executions the run does.
  return updateRun<MessageReceipt>(client, runId, { name: UPDATES.send, argument: message, updateId: message.id }, options);
}
