import { LonghaulError } from '../../domain/errors.ts';
import { nearestName } from '../../domain/text.ts';

/** One problem of a program. */
export interface Problem {
  /** The path of the part in the document, such as `units[1].steps[0].ask.prompt`. Empty: the document itself. */
  path: string;
  /** The problem, and what to write instead. */
  message: string;
  /** The known name that the author may have meant. It is also in the message. */
  nearest?: string;
}

/** The maximum number of problems, and of warnings, of one check. */
const MAX_PROBLEMS = 100;

/** The maximum number of character pairs that one check compares to find similar names. */
const MAX_COMPARED = 2_000_000;

/** The maximum characters of a name in a message. */
const MAX_QUOTED = 100;

/** Collects problems and warnings, up to a maximum of each. */
export class Problems {
  readonly #problems = new BoundedList('problems');
  readonly #warnings = new BoundedList('warnings');
  readonly #isLenient: boolean;
  #compared = 0;

  /** `isLenient`: unknown names that the format allows in lenient programs are warnings. */
  constructor(isLenient: boolean) {
    this.#isLenient = isLenient;
  }

  add(path: string, message: string): void {
    this.#problems.add({ path, message });
  }

  warn(path: string, message: string): void {
    this.#warnings.add({ path, message });
  }

  /** Adds a problem, which is a warning in a lenient program. */
  addUnlessLenient(path: string, message: string): void {
    (this.#isLenient ? this.#warnings : this.#problems).add({ path, message });
  }

  /** Adds a problem about an unknown name, with the most similar known name. */
  unknownName(path: string, message: string, { written, known, lenient = false }: UnknownName): void {
    const list = lenient && this.#isLenient ? this.#warnings : this.#problems;
    const nearest = list.isFull ? undefined : this.#nearest(written, known);
    list.add(nearest === undefined ? { path, message } : { path, message: `${message}. Did you mean "${nearest}"?`, nearest });
  }

  get problems(): Problem[] {
    return this.#problems.all();
  }

  get warnings(): Problem[] {
    return this.#warnings.all();
  }

  #nearest(written: string, known: Iterable<string>): string | undefined {
    const names: string[] = [];
    for (const name of known) {
      this.#compared += name.length * Math.min(written.length, MAX_QUOTED);
      if (this.#compared > MAX_COMPARED) return undefined;
      names.push(name);
    }
    return nearestName(written, names);
  }
}

/** An unknown name in the document. */
interface UnknownName {
  written: string;
  known: Iterable<string>;
  /** True: it is a warning in a lenient program. */
  lenient?: boolean;
}

/** Returns a name in quotes, cut if it is long. */
export function quoted(name: string): string {
  return `"${name.length <= MAX_QUOTED ? name : `${name.slice(0, MAX_QUOTED).replace(/[\ud800-\udbff]$/, '')}...`}"`;
}

/** Returns the error of a program with problems, which lists all of them. */
export function invalidProgram(name: string, problems: readonly Problem[]): LonghaulError {
  const lines = problems.map(({ path, message }) => `  ${path}: ${message}`);
  return new LonghaulError('invalid_program', `Program "${name}" cannot run:\n${lines.join('\n')}`);
}

class BoundedList {
  readonly #noun: string;
  readonly #list: Problem[] = [];
  #left = 0;

  constructor(noun: string) {
    this.#noun = noun;
  }

  get isFull(): boolean {
    return this.#list.length >= MAX_PROBLEMS;
  }

  add(problem: Problem): void {
    if (this.isFull) this.#left += 1;
    else this.#list.push(problem);
  }

  all(): Problem[] {
    return this.#left === 0 ? [...this.#list] : [...this.#list, { path: '', message: `and ${this.#left} more ${this.#noun}` }];
  }
}
