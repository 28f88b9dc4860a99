import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ArithmeticError, calculate } from '../../examples/kipchoge/arithmetic.ts';

/** An expression as a tree: the reference, which does not depend on text. */
type Tree =
  | { type: 'number'; value: number }
  | { type: 'sign'; operand: Tree }
  | { type: 'call'; name: 'abs' | 'floor' | 'ceil' | 'round'; operand: Tree }
  | { type: 'operation'; operator: '+' | '-' | '*' | '/' | '^'; left: Tree; right: Tree };

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, depthSize: 'small', withCrossShrink: true },
    fc.record({ type: fc.constant('number'), value: fc.oneof(fc.nat(1000), fc.double({ min: 0, max: 1e9, noNaN: true })) }),
    fc.record({ type: fc.constant('sign'), operand: tie('tree') }),
    fc.record({ type: fc.constant('call'), name: fc.constantFrom('abs', 'floor', 'ceil', 'round'), operand: tie('tree') }),
    fc.record({
      type: fc.constant('operation'),
      operator: fc.constantFrom('+', '-', '*', '/', '^'),
      left: tie('tree'),
      right: tie('tree'),
    }),
  ),
}));

function valueOf(one: Tree): number {
  switch (one.type) {
    case 'number':
      return one.value;
    case 'sign':
      return -valueOf(one.operand);
    case 'call':
      return Math[one.name](valueOf(one.operand));
    case 'operation':
      return operate(one.operator, valueOf(one.left), valueOf(one.right));
  }
}

function operate(operator: string, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    default:
      return left ** right;
  }
}

/** Returns true if every intermediate value is a finite number: the calculator guarantees a result only then. */
function isFiniteAll(one: Tree): boolean {
  if (!Number.isFinite(valueOf(one))) return false;
  if (one.type === 'number') return true;
  return one.type === 'operation' ? isFiniteAll(one.left) && isFiniteAll(one.right) : isFiniteAll(one.operand);
}

/**
 * The order of sum, product, sign, power and atom: an operand that binds less tightly than its position requires gets
 * parentheses.
 */
const LEVELS = { '+': 1, '-': 1, '*': 2, '/': 2, '^': 4 } as const;

function level(one: Tree): number {
  if (one.type === 'operation') return LEVELS[one.operator];
  return one.type === 'sign' ? 3 : 5;
}

/** The tree as text with only the necessary parentheses, which tests precedence and grouping. */
function print(one: Tree, blank: string): string {
  const inside = (child: Tree, least: number): string => (level(child) < least ? `(${blank}${print(child, blank)})` : print(child, blank));
  switch (one.type) {
    case 'number':
      return String(one.value);
    case 'sign':
      return `-${blank}${inside(one.operand, 3)}`;
    case 'call':
      return `${one.name}(${print(one.operand, blank)})`;
    case 'operation': {
      const own = LEVELS[one.operator];
      const [left, right] = one.operator === '^' ? [own + 1, 3] : [own, own + 1];
      return [inside(one.left, left), one.operator, inside(one.right, right)].join(blank);
    }
  }
}

test('every expression has the value of its tree, with as few parentheses as possible', () => {
  fc.assert(
    fc.property(tree, fc.constantFrom('', ' ', '\t\n'), (one, blank) => {
      const text = print(one, blank);
      fc.pre(isFiniteAll(one) && text.length <= 1_000);
      expect(calculate(text)).toBe(valueOf(one));
    }),
    { numRuns: 2_000 },
  );
});

function outcomeOf(expression: string): string {
  try {
    return Number.isFinite(calculate(expression)) ? 'computed or refused' : 'not finite';
  } catch (error) {
    return error instanceof ArithmeticError ? 'computed or refused' : String(error);
  }
}

test('any text gives a finite number or an ArithmeticError', () => {
  const pieces = fc.constantFrom(
    '1',
    '2.5',
    '.5',
    '3.',
    '1e3',
    '+',
    '-',
    '*',
    '/',
    '^',
    '(',
    ')',
    ' ',
    ',',
    'sqrt',
    'abs(',
    'x',
    '0',
    'é',
    '\u{1f600}',
    '\ud800',
  );
  const text = fc.oneof(
    fc.array(pieces, { maxLength: 30 }).map((all) => all.join('')),
    fc.string({ unit: 'binary', maxLength: 60 }),
  );
  fc.assert(
    fc.property(text, (expression) => {
      expect(outcomeOf(expression)).toBe('computed or refused');
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ['356500 / (42.195 / (2 + 1/60 + 9/3600))', 356500 / (42.195 / (2 + 1 / 60 + 9 / 3600))],
  ['-2^2', -4],
  ['2^3^2', 512],
  ['2^-2', 0.25],
  ['10 - 4 - 3', 3],
  ['2 * -3', -6],
  ['1.5e3 + .5', 1500.5],
  ['sqrt(16) + round(2.5) - floor(-1.5)', 9],
])('%s is %d', (expression, value) => {
  expect(calculate(expression)).toBe(value);
});

test.each([
  ['', 'The expression ends too early, at character 1: expected a number or "("'],
  ['2 *', 'The expression ends too early, at character 4: expected a number or "("'],
  ['(1 + 2', 'The expression ends too early, at character 7: expected ")"'],
  ['1 + 2)', 'Unexpected ")" at character 6: expected an operator'],
  ['356,500 / 21', 'Unexpected "," at character 4: expected an operator; write numbers without thousands separators'],
  ['2 3', 'Unexpected "3" at character 3: expected an operator'],
  ['20 km', 'Unexpected "km" at character 4: expected an operator'],
  ['pace(3)', 'Unknown function "pace" at character 1: there are sqrt, abs, floor, ceil, round'],
  ['sqrt 4', 'Unexpected "4" at character 6: expected "(" after "sqrt"'],
  ['1 / (2 - 2)', 'Division by zero at character 3'],
  ['sqrt(-1)', 'No real number is the result at character 1'],
  ['10^400', 'The result at character 3 is too large'],
  ['1e999', 'The result at character 1 is too large'],
  ['process.exit()', 'Unknown function "process" at character 1: there are sqrt, abs, floor, ceil, round'],
])('%j is refused, with the reason and the position', (expression, message) => {
  expect(() => calculate(expression)).toThrow(new ArithmeticError(message));
});

test('the deepest nesting that the maximum length allows is computed, and a longer text is refused', () => {
  expect(calculate(`${'('.repeat(499)}1${')'.repeat(499)}`)).toBe(1);
  expect(calculate(`${'-'.repeat(998)}1`)).toBe(1);
  expect(() => calculate('1'.repeat(1_001))).toThrow('The expression has 1001 characters: at most 1000 are read');
});
