import { errorCode } from '../../../core/domain/errors.ts';
import { eventStream, type OpenStream, type StreamMessage } from '../../streams.ts';
import { type FollowedTurn, followTurn } from './followed-turn.ts';
import type { UiChunk } from './ui-message.ts';

/** The header with the protocol version, which clients check. */
const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' };

/** Returns what a page may read about the failure of a stream, and reports the failure. */
export type ErrorText = (error: unknown) => string;

/**
 * Yields the chunks of a turn. A failure is a chunk, and ends the stream. If the signal is aborted or no server answers, it is thrown: the
 * connection breaks, so that the client does not mistake the part it has for the whole, and resumes the stream.
 */
export async function* turnChunks(turn: FollowedTurn, signal: AbortSignal, errorText: ErrorText): AsyncGenerator<UiChunk> {
  try {
    yield* followTurn(turn, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const text = errorText(error);
    if (errorCode(error) === 'server_unreachable') throw error;
    yield { type: 'error', errorText: text };
  }
}

/** Returns the response with the chunks of a turn. A client that disconnects does not end the turn. */
export function turnResponse(turn: FollowedTurn, { signal, closed }: OpenStream, errorText: ErrorText): Response {
  const left = new AbortController();
  const chunks = turnChunks(turn, AbortSignal.any([signal, left.signal]), errorText);
  const over = (): void => {
    left.abort();
    closed();
  };
  return eventStream(messagesOf(chunks), { signal, headers: HEADERS, breaksIfCut: true, closed: over });
}

async function* messagesOf(chunks: AsyncGenerator<UiChunk>): AsyncGenerator<StreamMessage> {
  for await (const chunk of chunks) yield { data: JSON.stringify(chunk) };
  yield { data: '[DONE]' };
}
