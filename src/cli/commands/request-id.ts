import { randomUUID } from 'node:crypto';
import { errorCode, errorMessage, LonghaulError } from '../../core/domain/errors/error.ts';

/**
 * Sends a request under the id that the user gave, or under a new one. Where no answer comes in time, the error says the
 * id: under that the same request may be sent again, and is taken once.
 */
export async function underId<Receipt>(given: string | undefined, send: (id: string) => Promise<Receipt>): Promise<Receipt> {
  const id = given ?? randomUUID();
  try {
    return await send(id);
  } catch (error) {
    if (given !== undefined || errorCode(error) !== 'wait_timeout') throw error;
    throw new LonghaulError('wait_timeout', `${errorMessage(error)}: --id ${id}`, { cause: error });
  }
}
