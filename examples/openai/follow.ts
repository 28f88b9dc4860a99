// Follows the answer of an agent with the unmodified package `openai`. If the connection is cut, the stream continues after the last event
// that has arrived, in any process of the service.
import { randomUUID } from 'node:crypto';
import type OpenAI from 'openai';

/** Writes the answer as it arrives, and returns the whole of it. `openai`: `new OpenAI({ baseURL: 'http://127.0.0.1:8787/v1', apiKey })`. */
export async function follow(openai: OpenAI, question: string, write: (text: string) => void): Promise<string> {
  const asked = { model: 'clerk', input: question, stream: true } as const;
  // The key makes a repeated request the same run.
  let events = await openai.responses.create(asked, { headers: { 'Idempotency-Key': randomUUID() } });
  let place: { id: string; after: number } | undefined;
  for (;;) {
    try {
      for await (const event of events) {
        if (event.type === 'response.created') place = { id: event.response.id, after: event.sequence_number };
        if (event.type === 'response.output_text.delta') write(event.delta);
        if (event.type === 'response.output_item.done' && 'phase' in event.item && event.item.phase === 'commentary') write('\n');
        if (event.type === 'response.completed') return answerOf(event.response);
        if (event.type === 'response.failed' || event.type === 'response.incomplete')
          throw new Error(`It ended as ${event.response.status}`);
        if (place !== undefined) place.after = event.sequence_number;
      }
    } catch (error) {
      if (place === undefined || !(error instanceof Error && isCut(error))) throw error;
    }
    if (place === undefined) throw new Error('The stream has no beginning');
    events = await openai.responses.retrieve(place.id, { stream: true, starting_after: place.after });
  }
}

/** True if the connection broke, or the process of the service ends. */
function isCut(error: Error & { code?: unknown; status?: unknown }): boolean {
  return error.code === 'shutting_down' || error.name === 'APIConnectionError' || error.name === 'TypeError';
}

/** `output_text` of the package joins all messages. The answer is the message with the phase. */
function answerOf({ output }: OpenAI.Responses.Response): string {
  const answer = output.find((item) => item.type === 'message' && item.phase === 'final_answer');
  return answer?.type === 'message' ? answer.content.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join('') : '';
}
