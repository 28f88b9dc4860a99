import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { ReadCallInput } from '../../src/core/protocol.ts';
import { failingAs } from '../failures/failure.ts';
import { openingOfCall } from './opening-of-call.ts';

/** Asks the run that keeps a session for the message of its call, which is too large to be stored again. */
export const readCallInput: (input: ReadCallInput) => Promise<string> = failingAs('internal', async (input) => {
  const { input: message } = await openingOfCall({ ...input, input: true });
  if (message === undefined)
    throw new LonghaulError('internal', `run "${input.runId}" has no text for call ${input.index} of "${input.eventId}"`);
  return message;
});
