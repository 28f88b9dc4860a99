import { createInterface, type Interface } from 'node:readline';
import type { InteractiveStreams } from '../../terminal.ts';
import type { Lines, Reaction } from './lines.ts';

/**
 * The lines that are typed on a terminal, with editing and a history. The terminal stays in raw mode all the time, so that Ctrl-C is a
 * key and does not end the process; lines that are typed while none is asked for wait for the next prompt.
 */
export class TypedLines implements Lines {
  readonly #output: InteractiveStreams['output'];
  readonly #readline: Interface;
  readonly #typed: string[] = [];
  #asked: ((reaction: Reaction) => void) | undefined;
  #interrupted: ((by: 'interrupt' | 'end') => void) | undefined;
  #isOver = false;

  constructor({ input, output }: InteractiveStreams) {
    this.#output = output;
    this.#readline = createInterface({ input, output, terminal: true, prompt: '' });
    this.#readline.on('line', (text) => {
      if (!this.#settle({ type: 'line', text })) this.#typed.push(text);
    });
    this.#readline.on('SIGINT', () => this.#pressed());
    this.#readline.on('close', () => {
      this.#isOver = true;
      if (!this.#settle({ type: 'end' })) this.#interrupt('end');
    });
  }

  ask(prompt: string, { fresh = false }: { fresh?: boolean } = {}): Promise<Reaction> {
    if (fresh) this.#forget();
    const text = this.#typed.shift();
    if (text !== undefined) {
      this.#output.write(`${prompt}${text}\n`);
      return Promise.resolve({ type: 'line', text });
    }
    if (this.#isOver) return Promise.resolve({ type: 'end' });
    this.#readline.setPrompt(prompt);
    this.#readline.prompt(true);
    return new Promise((resolve) => (this.#asked = resolve));
  }

  interruption(): Promise<'interrupt' | 'end'> {
    if (this.#isOver) return Promise.resolve('end');
    return new Promise((resolve) => (this.#interrupted = resolve));
  }

  close(): void {
    this.#readline.close();
  }

  /** Ctrl-C discards a line that has been begun; on an empty line, it is the reaction to the prompt. */
  #pressed(): void {
    if (this.#asked === undefined) return this.#interrupt('interrupt');
    const { line } = this.#readline;
    this.#output.write('^C\n');
    if (line === '') return void this.#settle({ type: 'interrupt' });
    this.#discardLine();
    this.#readline.prompt();
  }

  /** Gives the reaction to the prompt. False if none is shown. */
  #settle(reaction: Reaction): boolean {
    const asked = this.#asked;
    if (asked === undefined) return false;
    this.#asked = undefined;
    this.#readline.setPrompt('');
    // Ctrl-D leaves the cursor behind the prompt.
    if (reaction.type === 'end') this.#output.write('\n');
    asked(reaction);
    return true;
  }

  #interrupt(by: 'interrupt' | 'end'): void {
    const interrupted = this.#interrupted;
    this.#interrupted = undefined;
    interrupted?.(by);
  }

  #forget(): void {
    this.#typed.length = 0;
    if (!this.#isOver && this.#readline.line !== '') this.#discardLine();
  }

  /** Empties the line that is being edited, as the keys for its end and its deletion do. */
  #discardLine(): void {
    this.#readline.write(null, { ctrl: true, name: 'e' });
    this.#readline.write(null, { ctrl: true, name: 'u' });
  }
}
