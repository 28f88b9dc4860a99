/** Tests one position, and continues behind it. */
type Matcher = (at: number, next: (at: number) => boolean) => boolean;

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
    const [, sign, least, comma, most] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})/.exec(this.#source.slice(this.#at)) ?? [];
    if (sign !== undefined) {
      this.#at += 1;
      return this.#repeated(part, sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity);
    }
    if (least === undefined) return part;
    this.#at = this.#source.indexOf('}', this.#at) + 1;
    return this.#repeated(part, Number(least), most ? Number(most) : comma === '' ? Number(least) : Infinity);
  }

  #repeated(part: Matcher, min: number, max: number): Matcher {
    const times = (count: number, at: number, next: (at: number) => boolean): boolean =>
      (count < max && part(at, (then) => then > at && times(count + 1, then, next))) || (count >= min && next(at));
    return (at, next) => times(0, at, next);
  }

  #part(): Matcher {
    if (this.#take('^')) return (at, next) => at === 0 && next(at);
    if (this.#take('$')) return (at, next) => at === this.#text.length && next(at);
    if (this.#take('(?<!')) return this.#behind(this.#group());
    if (this.#take('(?!')) return this.#ahead(this.#group());
    if (this.#take('(?:') || this.#take('(')) return this.#group();
    const [atom] =
      /^(?:\[(?:\\.|[^\]\\])*\]|\\[pP]\{\w+\}|\\[sSdDwW.()[\]/-]|[^\\[\](){}*+?^$|])/u.exec(this.#source.slice(this.#at)) ?? [];
    if (atom === undefined) throw new Error(`The expression ${this.#source} has an unknown part at ${this.#at}`);
    this.#at += atom.length;
    return this.#character(atom);
  }

  #group(): Matcher {
    const inner = this.#alternatives();
    if (!this.#take(')')) throw new Error(`The expression ${this.#source} has an open group`);
    return inner;
  }

  /** Looks one character back: no expression looks further. */
  #behind(inner: Matcher): Matcher {
    return (at, next) => !(at > 0 && inner(at - 1, () => true)) && next(at);
  }

  #ahead(inner: Matcher): Matcher {
    return (at, next) => !inner(at, () => true) && next(at);
  }

  #character(atom: string): Matcher {
    const expression = new RegExp(`^${atom}$`, this.#flags);
    const known = new Map<string, boolean>();
    return (at, next) => {
      this.#steps += 1;
      const character = this.#text.charAt(at);
      let fits = known.get(character);
      if (fits === undefined) known.set(character, (fits = character !== '' && character.replace(expression, '') === ''));
      return fits && next(at + 1);
    };
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}
