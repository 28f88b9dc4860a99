import { createInterface, type Interface } from 'node:readline';
import type { InteractiveStreams } from '../../terminal.ts';
import type { Lines, Reaction } from './lines.ts';

/**
 * The lines that are entered on a terminal, with editing and a history. The terminal stays in raw mode all the time, so that Ctrl-C is a
 * key and does not end the process; lines that are entered while none is asked for wait for the next prompt.
 */
export class TerminalLines implements Lines {
  readonly #output: InteractiveStreams['output'];
  readonly #readline: Interface;
  readonly #entered: string[] = [];
  #asked: { react: (reaction: Reaction) => void; fresh: boolean } | undefined;
  #interrupted: (by: 'interrupt' | 'end') => void = () => undefined;
  #isOver = false;

  constructor({ input, output }: InteractiveStreams) {
    this.#output = output;
    this.#readline = createInterface({ input, output, terminal: true, prompt: '' });
    this.#readline.on('line', (text) => {
      if (!this.#settle({ type: 'line', text })) this.#entered.push(text);
    });
    this.#readline.on('SIGINT', () => this.#pressed());
    this.#readline.on('close', () => {
      this.#isOver = true;
      if (!this.#settle({ type: 'end' })) this.#interrupted('end');
    });
  }

  ask(prompt: string, { fresh = false }: { fresh?: boolean } = {}): Promise<Reaction> {
    if (fresh) this.#forget();
    const text = this.#entered.shift();
    if (text !== undefined) {
      this.#output.write(`${prompt}${text}\n`);
      return Promise.resolve({ type: 'line', text });
    }
    if (this.#isOver) return Promise.resolve({ type: 'end' });
    this.#readline.setPrompt(prompt);
    this.#readline.prompt(true);
    return new Promise((react) => (this.#asked = { react, fresh }));
  }

  onInterruption(listener: (by: 'interrupt' | 'end') => void): void {
    this.#interrupted = listener;
  }

  close(): void {
    this.#readline.close();
  }

  /** Ctrl-C discards a line that has been begun; on an empty line, and at a fresh prompt, it is the reaction to the prompt. */
  #pressed(): void {
    if (this.#asked === undefined) return this.#interrupted('interrupt');
    const isBegun = this.#readline.line !== '';
    const isReaction = this.#asked.fresh || !isBegun;
    this.#output.write('^C\n');
    if (isReaction) this.#readline.setPrompt('');
    if (isBegun) this.#discardLine();
    if (isReaction) this.#settle({ type: 'interrupt' });
    else this.#readline.prompt();
  }

  /** Gives the reaction to the prompt. False if none is shown. */
  #settle(reaction: Reaction): boolean {
    const asked = this.#asked;
    if (asked === undefined) return false;
    this.#asked = undefined;
    this.#readline.setPrompt('');
    // Ctrl-D leaves the cursor behind the prompt.
    if (reaction.type === 'end') this.#output.write('\n');
    asked.react(reaction);
    return true;
  }

  #forget(): void {
    this.#entered.length = 0;
    if (!this.#isOver && this.#readline.line !== '') this.#discardLine();
  }

  /** Empties the line that is being edited, as the keys for its end and its deletion do. */
  #discardLine(): void {
    this.#readline.write(null, { ctrl: true, name: 'e' });
    this.#readline.write(null, { ctrl: true, name: 'u' });
  }
}
