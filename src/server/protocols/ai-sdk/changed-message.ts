import type { ContentPart } from '../../../core/domain/content/content.ts';
import type { RecordPlace } from '../../../client/stream/record-pages.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import { recordedParts } from './encoder/recorded-parts.ts';
import { changedMessage, type UserMessage } from './posted-chat.ts';
import { eventsFrom, isOfUser } from './record-events.ts';

/**
 * Throws `invalid_request` if a message that the session has accepted before has another text now: a message is accepted once, so the
 * change would be lost. `place`: where the turn begins that was to answer it.
 */
export async function requireUnchanged(
  run: Pick<RunHandle, 'context'>,
  place: RecordPlace,
  message: UserMessage | undefined,
): Promise<void> {
  if (message === undefined) return;
  const text = textOf(message.content);
  for await (const [, event] of eventsFrom(run, place.offset)) {
    if (isOfUser(event) && recordedParts(event.content).text === text) return;
    // A turn that ends before it has read the message leaves it to the next one.
    if (event.turn !== undefined && event.turn.unanswered?.includes(message.id) !== true) throw changedMessage();
  }
}

function textOf(content: string | ContentPart[]): string {
  return recordedParts([{ type: 'message', role: 'user', content }]).text;
}
