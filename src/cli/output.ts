import { styleText } from 'node:util';
import { ANYWHERE } from '../core/domain/text.ts';
import type { OutputStream, Terminal } from './terminal.ts';

/** A style of text on a terminal that shows colours. */
export type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** The output of a command: results on stdout, remarks on stderr. */
export class Output {
  /** True for machine-readable output: one JSON value on stdout, or JSON Lines for lists. */
  readonly json: boolean;
  /** True if stdout shows colours. */
  readonly colour: boolean;
  /** The name of this program in commands to copy. */
  readonly program: string;
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;

  constructor(terminal: Pick<Terminal, 'stdout' | 'stderr' | 'env' | 'program'>, json: boolean) {
    this.json = json;
    this.program = terminal.program ?? ANYWHERE;
    this.#stdout = terminal.stdout;
    this.#stderr = terminal.stderr;
    this.colour = !json && showsColour(terminal);
  }

  /** Prints a line of the result, for people. */
  print(line: string): void {
    this.#stdout.write(`${line}\n`);
  }

  /** Writes a part of a line of the result. */
  write(text: string): void {
    this.#stdout.write(text);
  }

  /** True if the result is shown to a person as it comes. */
  get isLive(): boolean {
    return !this.json && this.#stdout.isTTY === true;
  }

  /** The columns of the terminal that shows the result; undefined if something else reads it, which gets all of each line. */
  get columns(): number | undefined {
    return this.#stdout.isTTY === true ? this.#stdout.columns : undefined;
  }

  /** Prints a line of the result, for machines. */
  printJson(value: unknown): void {
    this.#stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** Prints a remark that is not part of the result. */
  note(line: string): void {
    this.#stderr.write(`${line}\n`);
  }

  /** Returns the text in a style, if the terminal shows colours. */
  look(look: Look, text: string): string {
    return this.colour ? styleText(look, text, { validateStream: false }) : text;
  }
}

/** True on a terminal, unless the user has turned colours off (NO_COLOR) or the terminal cannot show them. */
export function showsColour({ stdout, env }: Pick<Terminal, 'stdout' | 'env'>): boolean {
  return stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
