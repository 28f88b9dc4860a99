import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { StreamMessage } from '../../../sse/event-stream.ts';
import type { StreamEncoder } from '../answering/streamed.ts';
import type { CompletionFacts } from './completion.ts';
import { type ChunkOptions, CompletionChunks } from './completion-chunks.ts';

/** Returns the encoder of a streamed completion. */
export function chatEncoder(facts: CompletionFacts, options: ChunkOptions): StreamEncoder {
  const chunks = new CompletionChunks(facts, options);
  return {
    begin: () => messages(chunks.begin()),
    take: (item) => messages(chunks.take(item)),
    end: () => [{ data: '[DONE]' }],
    fail: (error) => [{ data: JSON.stringify({ error }) }],
  };
}

function* messages(chunks: Iterable<ChatCompletionChunk>): Generator<StreamMessage> {
  for (const chunk of chunks) yield { data: JSON.stringify(chunk) };
}
