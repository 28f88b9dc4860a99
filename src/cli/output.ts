import { styleText } from 'node:util';
import { ANYWHERE } from '../domain/shell-command.ts';
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

/**
 * Text from a model or a tool as it may be shown: without the control characters that could move the cursor, retitle
 * the window, or hide what comes after. Tabs and line breaks stay.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replace(/\r\n/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** The same on one line: a line break must not begin a line that looks like ours. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}
