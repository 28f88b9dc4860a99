import type { Event } from '../../../core/domain/record.ts';
import type { RunHandle } from '../../../client/run-handle.ts';

/** Yields the recorded events of a run from an offset on, each with its own. */
export async function* eventsFrom(run: Pick<RunHandle, 'context'>, offset: number): AsyncGenerator<[number, Event]> {
  for (let from = offset; ;) {
    const page = await run.context({ from });
    for (const [index, event] of page.events.entries()) yield [page.from + index, event];
    from = page.from + page.events.length;
    if (page.events.length === 0 || from >= page.total) return;
  }
}

/** True for a message that a user has sent. */
export function isOfUser({ author, content, given }: Event): boolean {
  return author === 'user' && !given && content.some((item) => item.type === 'message' && item.role === 'user');
}
