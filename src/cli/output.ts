import { styleText } from 'node:util';
import { ANYWHERE } from '../core/hints/shell-command.ts';
import type { OutputStream, Terminal } from './terminal.ts';

/** How a piece of text looks on a terminal that shows colours. */
export type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** What a command says: results on stdout, remarks on stderr. */
export class Output {
  /** One JSON value on stdout (JSON Lines for lists), for machines. */
  readonly json: boolean;
  /** Stdout shows colours. */
  readonly colour: boolean;
  /** How commands to copy call this program. */
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

  /** A line of the result, for people. */
  print(line: string): void {
    this.#stdout.write(`${line}\n`);
  }

  /** A line of the result, for machines. */
  printJson(value: unknown): void {
    this.#stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** A remark that is no part of the result. */
  note(line: string): void {
    this.#stderr.write(`${line}\n`);
  }

  /** The text as it looks on this terminal. */
  look(look: Look, text: string): string {
    return this.colour ? styleText(look, text, { validateStream: false }) : text;
  }
}

/** True on a terminal, unless the user does not want colours (NO_COLOR) or it cannot show any. */
export function showsColour({ stdout, env }: Pick<Terminal, 'stdout' | 'env'>): boolean {
  return stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
