import { printable } from '../../core/domain/text.ts';

/**
 * Text of a model on a terminal as it is written, before its event is recorded. Texts come in the order of their events: one that begins
 * before the event of another has been shown, with what follows it, waits for `goOn`.
 */
export class LiveText {
  readonly #write: (text: string) => void;
  #open: { eventId: string; text: string } | undefined;
  /** True from the end of a text until the caller has shown what follows it. */
  #isPaused = false;
  /** Texts that wait. */
  readonly #waiting: { eventId: string; text: string }[] = [];
  /** The events that have been shown: what comes late of them is left out. */
  readonly #shown = new Set<string>();

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Writes a piece of the text that an event will hold. */
  add(eventId: string, text: string): void {
    if (this.#shown.has(eventId)) return;
    if (this.#open === undefined ? this.#isPaused : this.#open.eventId !== eventId) {
      const last = this.#waiting.at(-1);
      if (last?.eventId === eventId) last.text += text;
      else this.#waiting.push({ eventId, text });
      return;
    }
    this.#open ??= { eventId, text: '' };
    this.#open.text += text;
    this.#write(printable(text));
  }

  /** Takes back what no event holds so far: the model is asked again. */
  reset(): void {
    this.#waiting.length = 0;
    if (this.#open === undefined) return;
    this.#open = undefined;
    this.#write(' … (the answer begins again)\n');
  }

  /**
   * Ends the text of an event whose whole text is known. True if it has been written; false if the caller has to show it: nothing, or
   * something else, was written before. Call `goOn` once everything is shown that comes before the next text.
   */
  settle(eventId: string, text: string): boolean {
    this.#shown.add(eventId);
    this.#isPaused = true;
    const open = this.#open;
    if (open === undefined) return false;
    const isOwn = open.eventId === eventId;
    // Another event may be shown in between, such as one about a decision.
    if (!isOwn && !this.#waiting.some((one) => one.eventId === eventId)) return false;
    this.#open = undefined;
    const isWritten = isOwn && text.startsWith(open.text);
    this.#write(isWritten ? `${printable(text.slice(open.text.length))}\n` : '\n');
    return isWritten;
  }

  /** Ends a line that has been begun, before something else is shown. */
  endLine(): void {
    if (this.#open === undefined) return;
    this.#shown.add(this.#open.eventId);
    this.#open = undefined;
    this.#write('\n');
  }

  /** Writes what has waited. */
  goOn(): void {
    this.#isPaused = false;
    if (this.#open !== undefined) return;
    const waiting = this.#waiting.splice(0);
    for (const { eventId, text } of waiting) this.add(eventId, text);
  }
}
