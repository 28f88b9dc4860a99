import type { Client } from '@temporalio/client';
import { createHmac, randomUUID } from 'node:crypto';
import type { ContentPart, MessageMode } from '../../core/domain/content.ts';
import { LonghaulError } from '../../core/domain/errors.ts';
import type { Identity } from '../../core/domain/run.ts';
import { type MessageReceipt, type SendInput, UPDATES } from '../../core/protocol.ts';
import { messageProblem } from '../../core/wire-schemas/request-schemas.ts';
import { type RunUpdate, updateRun, type UpdateOptions } from './update.ts';

/** The options of sending a message. */
export interface SendOptions extends UpdateOptions {
  /** An id of your own, at most 64 characters: a message with the same id is accepted once, however often it is sent. Default: a UUID. */
  id?: string;
  /**
   * The moment at which the model reads it: after the current step (`queue`, the default); before its next call, giving up
   * calls that wait or have not started (`steer`); at once, aborting the model call in flight as well (`interrupt`).
   */
  mode?: MessageMode;
}

/** The receiver of a message. */
export interface Addressee extends Pick<RunUpdate, 'start'> {
  client: Client;
  runId: string;
  /** The principal for whom the message is sent, which the run compares with its own, and the key by which users are hashed. */
  sender?: { principal: Identity; key: string | undefined };
}

/** Sends a message to a running run; with `start`, to one that is started for it if there is none. Throws, before anything is sent, for a message that the run would refuse. */
export async function sendMessage(
  { client, runId, start, sender }: Addressee,
  content: string | ContentPart[],
  options: SendOptions,
): Promise<MessageReceipt> {
  const { id = randomUUID(), mode, ...sending } = options;
  const { principal, key = '' } = sender ?? {};
  const message: SendInput = { id, content, ...(mode === undefined ? {} : { mode }), ...(principal === undefined ? {} : { principal }) };
  const problem = messageProblem(message);
  if (problem !== undefined) throw new LonghaulError(problem.code, `The message to run "${runId}" was not sent: ${problem.message}`);
  // The same id at both levels: the server knows it within one execution, the run across executions. The server answers a known id
  // without asking the run, so it must be one that no other principal sends.
  const ofSender =
    principal === undefined ? '' : ` ${createHmac('sha256', key).update(JSON.stringify(principal)).digest('hex').slice(0, 32)}`;
  return updateRun<MessageReceipt>(
    client,
    runId,
    { name: UPDATES.send, argument: message, id, updateId: `send ${id}${ofSender}`, ...(start === undefined ? {} : { start }) },
    sending,
  );
}
