/** The functions and constants of `Math` that give the same result each time. */
const MATH =
  'abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp expm1 floor fround hypot imul log log10 log1p log2 max min ' +
  'pow round sign sin sinh sqrt tan tanh trunc E LN10 LN2 LOG10E LOG2E PI SQRT1_2 SQRT2';

const MATH_NAMES = MATH.replaceAll(' ', ', ');

/** The modules that the executor has: their names and their code. */
export const MODULES: ReadonlyMap<string, string> = new Map([
  ['math', `export const { ${MATH_NAMES} } = Math;\nexport default Object.freeze({ ${MATH_NAMES} });`],
]);

/** Explains why code may not import a module; undefined if it may. A module is allowed by the first part of its name. */
export function importProblem(name: string, allowed: readonly string[]): string | undefined {
  const shown = `Import "${name.slice(0, 200)}" is not allowed`;
  if (allowed.length === 0) return `${shown}: the code has no modules`;
  if (!allowed.includes(name.split('/')[0] ?? '')) return `${shown}: the code may import ${allowed.join(', ')}`;
  if (MODULES.has(name)) return undefined;
  return `${shown}: the executor has no such module, only ${[...MODULES.keys()].join(', ')}`;
}

/** The code of a module, for the engine. Code is checked before it runs, so a module that may not be imported is never asked for. */
export function moduleSource(name: string, allowed: readonly string[]): string {
  const source = importProblem(name, allowed) === undefined ? MODULES.get(name) : undefined;
  return source ?? "throw new TypeError('This import is not allowed');";
}
