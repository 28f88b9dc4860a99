/** Tests one position, and continues after it. */
interface Matcher {
  (at: number, next: (at: number) => boolean): boolean;
  /** For a single character: tests it alone. */
  fits?: (at: number) => boolean;
}

/** The most characters that an expression looks back. */
const LONGEST_BEHIND = 8;

/** Counts the characters that a backtracking engine reads, for the part of the syntax that the project's expressions use. */
export class PatternSteps {
  #steps = 0;
  #text = '';
  readonly #source: string;
  readonly #flags: string;
  readonly #isSticky: boolean;
  readonly #match: Matcher;
  #at = 0;

  constructor({ source, flags, sticky }: RegExp) {
    this.#source = source;
    this.#flags = flags.replaceAll(/[gyd]/g, '');
    this.#isSticky = sticky;
    this.#match = this.#alternatives();
    if (this.#at < source.length) throw new Error(`The expression ${source} cannot be read at ${this.#at}`);
  }

  /** Returns the number of characters that a search of a text reads, from an index on. */
  search(text: string, from: number): number {
    this.#text = text;
    this.#steps = 0;
    const last = this.#isSticky ? from : text.length;
    for (let start = from; start <= last; start += 1) {
      this.#steps += 1;
      if (this.#match(start, () => true)) break;
    }
    return this.#steps;
  }

  #alternatives(): Matcher {
    const choices = [this.#sequence()];
    while (this.#take('|')) choices.push(this.#sequence());
    return (at, next) => choices.some((choice) => choice(at, next));
  }

  #sequence(): Matcher {
    const parts: Matcher[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source.charAt(this.#at))) parts.push(this.#quantified());
    return parts.reduceRight<Matcher>(
      (rest, part) => (at, next) => part(at, (then) => rest(then, next)),
      (at, next) => next(at),
    );
  }

  #quantified(): Matcher {
    const part = this.#part();
    const [found = '', sign, least, comma, most] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})/.exec(this.#source.slice(this.#at)) ?? [];
    this.#at += found.length;
    if (found === '') return part;
    const isLazy = this.#take('?');
    if (sign !== undefined) return this.#repeated(part, { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity, isLazy });
    return this.#repeated(part, { min: Number(least), max: most ? Number(most) : comma === '' ? Number(least) : Infinity, isLazy });
  }

  #repeated(part: Matcher, { min, max, isLazy }: { min: number; max: number; isLazy: boolean }): Matcher {
    const { fits } = part;
    if (fits !== undefined && !isLazy) return this.#repeatedCharacter(fits, min, max);
    const times = (count: number, at: number, next: (at: number) => boolean): boolean => {
      const more = (): boolean => count < max && part(at, (then) => then > at && times(count + 1, then, next));
      const enough = (): boolean => count >= min && next(at);
      return isLazy ? enough() || more() : more() || enough();
    };
    return (at, next) => times(0, at, next);
  }

  /** As many as there are, and then fewer: without the recursion, which long texts would overflow. */
  #repeatedCharacter(fits: (at: number) => boolean, min: number, max: number): Matcher {
    return (at, next) => {
      let count = 0;
      while (count < max && fits(at + count)) count += 1;
      for (; count >= min; count -= 1) if (next(at + count)) return true;
      return false;
    };
  }

  #part(): Matcher {
    if (this.#take('^')) return (at, next) => this.#isEdge(at, -1) && next(at);
    if (this.#take('$')) return (at, next) => this.#isEdge(at, 0) && next(at);
    if (this.#take('\\b')) return (at, next) => this.#isWord(at - 1) !== this.#isWord(at) && next(at);
    if (this.#take('(?<!')) return this.#behind(this.#group(), false);
    if (this.#take('(?<=')) return this.#behind(this.#group(), true);
    if (this.#take('(?!')) return this.#ahead(this.#group(), false);
    if (this.#take('(?=')) return this.#ahead(this.#group(), true);
    const [open] = /^\((?:\?:|\?<\w+>)?/.exec(this.#source.slice(this.#at)) ?? [];
    if (open !== undefined) {
      this.#at += open.length;
      return this.#group();
    }
    const [atom] =
      /^(?:\[(?:\\.|[^\]\\])*\]|\\[pP]\{\w+\}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\[^1-9bBkpPux]|[^\\[(){*+?^$|)])/iu.exec(
        this.#source.slice(this.#at),
      ) ?? [];
    if (atom === undefined) throw new Error(`The expression ${this.#source} has an unknown part at ${this.#at}`);
    this.#at += atom.length;
    return this.#character(atom);
  }

  #group(): Matcher {
    const inner = this.#alternatives();
    if (!this.#take(')')) throw new Error(`The expression ${this.#source} has an open group`);
    return inner;
  }

  /** Looks back for what ends here. */
  #behind(inner: Matcher, isWanted: boolean): Matcher {
    const ends = (at: number): boolean => {
      for (let back = 0; back <= Math.min(at, LONGEST_BEHIND); back += 1) if (inner(at - back, (then) => then === at)) return true;
      return false;
    };
    return (at, next) => ends(at) === isWanted && next(at);
  }

  #ahead(inner: Matcher, isWanted: boolean): Matcher {
    return (at, next) => inner(at, () => true) === isWanted && next(at);
  }

  /** True at the beginning (`-1`) or the end (`0`) of the text, or of a line if lines count. */
  #isEdge(at: number, side: -1 | 0): boolean {
    const character = this.#text.charAt(at + side);
    return character === '' || (this.#flags.includes('m') && character === '\n');
  }

  #isWord(at: number): boolean {
    this.#steps += 1;
    return /\w/.test(this.#text.charAt(at));
  }

  #character(atom: string): Matcher {
    const expression = new RegExp(`^${atom}$`, this.#flags);
    const known = new Map<string, boolean>();
    const fits = (at: number): boolean => {
      this.#steps += 1;
      const character = this.#text.charAt(at);
      let isFit = known.get(character);
      if (isFit === undefined) known.set(character, (isFit = character !== '' && character.replace(expression, '') === ''));
      return isFit;
    };
    return Object.assign((at: number, next: (at: number) => boolean) => fits(at) && next(at + 1), { fits });
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}
