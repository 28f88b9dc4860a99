import { randomUUID } from 'node:crypto';
import { errorCode, errorMessage, LonghaulError } from '../../core/domain/errors.ts';

/**
 * Sends a request with the user's id, or with a new one. If no answer comes in time, the error contains the id, with which
 * the same request may be sent again and is accepted once.
 */
export async function underId<Receipt>(ownId: string | undefined, send: (id: string) => Promise<Receipt>): Promise<Receipt> {
  const id = ownId ?? randomUUID();
  try {
    return await send(id);
  } catch (error) {
    if (ownId !== undefined || errorCode(error) !== 'wait_timeout') throw error;
    throw new LonghaulError('wait_timeout', `${errorMessage(error)}: --id ${id}`, { cause: error });
  }
}
