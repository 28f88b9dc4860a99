import type { StreamItemContent } from '../../client/stream/stream-item.ts';
import { outputText } from '../../core/domain/content.ts';
import { type Event, isResponse } from '../../core/domain/record.ts';
import type { Output } from '../output.ts';
import { LiveText } from './live-text.ts';

/** The time without output after which a person who waits is told that something happens, in milliseconds. */
export const SILENCE_MS = 3_000;

/** Returns the text of a response. */
export function responseText({ content }: Pick<Event, 'content'>): string {
  return content.map((item) => (item.type === 'message' ? outputText(item.content) : '')).join('');
}

/** The text of a run on a terminal while its result is awaited. */
export class LiveRun {
  readonly #text: LiveText;
  /** The text of the newest response, if it has been written as it stands. */
  #written: string | undefined;
  /** The event whose text is being written. */
  #open: string | undefined;

  constructor(output: Pick<Output, 'write'>) {
    this.#text = new LiveText((text) => output.write(text));
  }

  /** Writes the text of the run as its stream brings it. Never rejects, if the items do not. */
  async follow(items: AsyncIterable<StreamItemContent>): Promise<void> {
    for await (const item of items) {
      // A step of a program is shown with its result.
      if (item.type === 'delta' && item.delta.type === 'text' && item.callId === undefined) {
        this.#open ??= item.eventId;
        this.#text.add(item.eventId, item.delta.text);
      } else if (item.type === 'reset' && item.callId === undefined) {
        this.#open = undefined;
        this.#text.reset();
      } else if (item.type === 'event' && isResponse(item.event)) this.#settle(item.event.id, responseText(item.event));
    }
  }

  /** Ends the text. True if the output of the run has been written already. */
  finish(output: string): boolean {
    if (this.#open !== undefined) this.#settle(this.#open, output);
    this.#text.endLine();
    return output !== '' && this.#written === output;
  }

  #settle(eventId: string, text: string): void {
    this.#open = undefined;
    this.#written = this.#text.settle(eventId, text) ? text : undefined;
    this.#text.goOn();
  }
}
