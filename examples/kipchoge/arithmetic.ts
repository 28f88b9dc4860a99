/** Arithmetic that cannot be computed. The message names what is wrong and where; positions count from 1. */
export class ArithmeticError extends Error {
  override readonly name = 'ArithmeticError';
}

type Token = { type: 'number'; value: number; at: number } | { type: 'name' | 'symbol' | 'end'; text: string; at: number };

const FUNCTIONS = new Map<string, (value: number) => number>([
  ['sqrt', Math.sqrt],
  ['abs', Math.abs],
  ['floor', Math.floor],
  ['ceil', Math.ceil],
  ['round', Math.round],
]);

/** The precedence of the operators. `^` groups to the right and binds tighter than a sign before it: -2^2 is -4. */
const BINDING = new Map([
  ['+', 1],
  ['-', 1],
  ['*', 2],
  ['/', 2],
  ['^', 4],
]);
const SIGN_BINDING = 3;

/** Longer than any real calculation, and far from the length that would exhaust the stack. */
const MAX_LENGTH = 1_000;

const TOKEN = /\s*(?:(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>\p{L}+)|(?<symbol>\S))/uy;

/**
 * The value of an expression of numbers, `+ - * / ^`, signs, parentheses, and sqrt, abs, floor, ceil and round. It is
 * parsed, never evaluated as code. Throws an `ArithmeticError`.
 */
export function calculate(expression: string): number {
  if (expression.length > MAX_LENGTH)
    throw new ArithmeticError(`The expression has ${expression.length} characters: at most ${MAX_LENGTH} are read`);
  const parser = new Parser(tokensOf(expression));
  const value = parser.expression(0);
  parser.expectEnd();
  return value;
}

function tokensOf(expression: string): Token[] {
  const text = expression.trimEnd();
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const { number, name, symbol } = TOKEN.exec(text)?.groups ?? {};
    const found = number ?? name ?? symbol ?? '';
    const at = TOKEN.lastIndex - found.length + 1;
    if (number !== undefined) tokens.push({ type: 'number', value: Number(number), at });
    else tokens.push({ type: name === undefined ? 'symbol' : 'name', text: found, at });
  }
  return [...tokens, { type: 'end', text: 'the end', at: text.length + 1 }];
}

/** A Pratt parser that computes while it reads. */
class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** Reads operators as long as they bind tighter than `minimum`. */
  expression(minimum: number): number {
    let left = this.#operand();
    for (;;) {
      const operator = this.#peek();
      const binding = operator.type === 'symbol' ? BINDING.get(operator.text) : undefined;
      if (operator.type !== 'symbol' || binding === undefined || binding <= minimum) return left;
      this.#next += 1;
      const right = this.expression(operator.text === '^' ? binding - 1 : binding);
      left = finite(apply(operator.text, left, right, operator.at), operator.at);
    }
  }

  expectEnd(): void {
    const token = this.#peek();
    if (token.type !== 'end') throw unexpected(token, 'an operator');
  }

  #operand(): number {
    const token = this.#peek();
    this.#next += 1;
    if (token.type === 'number') return finite(token.value, token.at);
    if (token.type === 'name') return this.#call(token.text, token.at);
    if (token.text === '-') return -this.expression(SIGN_BINDING);
    if (token.text === '+') return this.expression(SIGN_BINDING);
    if (token.text === '(') return this.#closed();
    throw unexpected(token, 'a number or "("');
  }

  #call(name: string, at: number): number {
    const compute = FUNCTIONS.get(name);
    if (compute === undefined)
      throw new ArithmeticError(`Unknown function "${name}" at character ${at}: there are ${[...FUNCTIONS.keys()].join(', ')}`);
    const token = this.#peek();
    if (token.type !== 'symbol' || token.text !== '(') throw unexpected(token, `"(" after "${name}"`);
    this.#next += 1;
    return finite(compute(this.#closed()), at);
  }

  #closed(): number {
    const value = this.expression(0);
    const token = this.#peek();
    if (token.type !== 'symbol' || token.text !== ')') throw unexpected(token, '")"');
    this.#next += 1;
    return value;
  }

  #peek(): Token {
    const token = this.#tokens[this.#next];
    if (token === undefined) throw new ArithmeticError('The expression ends too early');
    return token;
  }
}

function apply(operator: string, left: number, right: number, at: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      if (right === 0) throw new ArithmeticError(`Division by zero at character ${at}`);
      return left / right;
    default:
      return left ** right;
  }
}

function finite(value: number, at: number): number {
  if (Number.isNaN(value)) throw new ArithmeticError(`No real number is the result at character ${at}`);
  if (!Number.isFinite(value)) throw new ArithmeticError(`The result at character ${at} is too large`);
  return value;
}

function unexpected(token: Token, expected: string): ArithmeticError {
  if (token.type === 'end') return new ArithmeticError(`The expression ends too early, at character ${token.at}: expected ${expected}`);
  const found = token.type === 'number' ? String(token.value) : token.text;
  const hint = found === ',' ? '; write numbers without thousands separators' : '';
  return new ArithmeticError(`Unexpected "${found}" at character ${token.at}: expected ${expected}${hint}`);
}
