import { errorCode } from '../../../core/domain/errors/error.ts';
import { type Problem, problemOf, reported, type ReportError } from '../../problems/problem-of.ts';
import { eventStream, type StreamMessage } from '../../sse/event-stream.ts';
import type { OpenStream } from '../../sse/open-stream.ts';
import type { UiChunk } from './encoder/ui-chunk.ts';
import { type FollowedTurn, followTurn } from './followed-turn.ts';

/** The version of the protocol, by which clients know it. */
const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' };

/** The request that a chat answers. */
interface ChatRequest {
  settings: { report: ReportError };
  raw: Request;
}

/**
 * Returns the response with the chunks of a turn. A client that goes ends nothing. If the signal is aborted, the connection breaks, so
 * that the client does not take the part that it has for the whole, and resumes the stream.
 */
export function chatResponse(turn: FollowedTurn, { signal, closed }: OpenStream, request: ChatRequest): Response {
  const left = new AbortController();
  const reading = AbortSignal.any([signal, left.signal]);
  const over = (): void => {
    left.abort();
    closed();
  };
  return eventStream(messagesOf(turn, reading, request), { signal, headers: HEADERS, breaksIfCut: true, closed: over });
}

async function* messagesOf(turn: FollowedTurn, signal: AbortSignal, { settings, raw }: ChatRequest): AsyncGenerator<StreamMessage> {
  try {
    for await (const chunk of followTurn(turn, signal)) yield messageOf(chunk);
  } catch (error) {
    if (signal.aborted) throw error;
    const { problem } = problemOf(error, reported(raw), settings.report);
    if (errorCode(error) === 'server_unreachable') throw error;
    yield messageOf({ type: 'error', errorText: textOf(problem) });
  }
  yield { data: '[DONE]' };
}

function messageOf(chunk: UiChunk): StreamMessage {
  return { data: JSON.stringify(chunk) };
}

function textOf({ detail, status, title }: Problem): string {
  return status < 500 ? detail : title;
}
