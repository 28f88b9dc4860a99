import { outputText } from '../../core/domain/content.ts';
import { printable } from '../../core/domain/text.ts';
import type { Event, TurnNote } from '../../core/domain/record.ts';
import type { Output } from '../output.ts';
import { turnText } from '../render/turn-text.ts';

/** The messages of one turn of a session, its answer, and its end. */
export interface Exchange {
  messages: string[];
  /** The last text of the model. Empty if there was none. */
  answer: string;
  /** Absent while the turn goes on. */
  end?: TurnNote;
}

/** Returns the exchanges in a stretch of events. A turn whose messages come before the stretch is left out. */
export function exchangesOf(events: Iterable<Event>): Exchange[] {
  const exchanges: Exchange[] = [];
  let current: Exchange = { messages: [], answer: '' };
  for (const { content, turn, given, compaction } of events) {
    if (given || compaction !== undefined) continue;
    for (const item of content) {
      if (item.type !== 'message') continue;
      if (item.role === 'user') current.messages.push(outputText(item.content));
      else if (item.role === 'assistant') current.answer = outputText(item.content);
    }
    if (turn === undefined) continue;
    if (current.messages.length > 0) exchanges.push({ ...current, end: turn });
    current = { messages: [], answer: '' };
  }
  return current.messages.length === 0 ? exchanges : [...exchanges, current];
}

/** Returns an exchange as lines: its messages behind `> `, the answer, and the end of the turn unless it is an answer. */
export function exchangeLines({ messages, answer, end }: Exchange, output: Pick<Output, 'look'>): string[] {
  const ending = end === undefined || end.status === 'completed' ? undefined : turnText(end);
  return [
    ...messages.flatMap((text) =>
      printable(text)
        .split('\n')
        .map((line, index) => output.look('bold', `${index === 0 ? '>' : ' '} ${line}`)),
    ),
    ...(answer === '' ? [] : printable(answer).split('\n')),
    ...(ending === undefined ? [] : [output.look(ending.look, `(${printable(ending.text)})`)]),
  ];
}

/** The number of events of which the newest exchanges are read: a turn without calls has three. */
const READ_EVENTS = 60;

/** Reads the newest exchanges of a session that has so many events. */
export async function newestExchanges(
  run: { events: (options: { from: number }) => AsyncIterable<Event> },
  { events, count }: { events: number; count: number },
): Promise<Exchange[]> {
  const read: Event[] = [];
  for await (const event of run.events({ from: Math.max(0, events - READ_EVENTS) })) read.push(event);
  return exchangesOf(read).slice(-count);
}
