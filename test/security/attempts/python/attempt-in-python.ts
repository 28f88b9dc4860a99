import { type Attempt, type Family, SMALL } from '../attempt.ts';

type Expected = Pick<Attempt, 'ends' | 'answer' | 'output' | 'calls'>;

/** Cells and their required ends. */
export type InPython = readonly [code: string | string[], expected?: Expected];

/**
 * Modules that no import is allowed for, got through the module of the built-ins, which every built-in function leads to: the
 * attempts begin where the language's own restrictions have been broken.
 */
const MODULES = `load = print.__self__.__import__
os, sys, ctypes, signal, resource, errno = (load(name) for name in ('os', 'sys', 'ctypes', 'signal', 'resource', 'errno'))
libc = ctypes.CDLL(None, use_errno=True)
def attempt(action):
  try:
    return action()
  except:
    return None`;

/** Attempts in Python that begin with all modules at hand. */
export function withModules(family: Family, cells: readonly InPython[], limits: Attempt['limits'] = SMALL): Attempt[] {
  return inPython(family, cells, limits).map((attempt) => ({ ...attempt, cells: [MODULES, ...attempt.cells] }));
}

/** Attempts in Python. */
export function inPython(family: Family, cells: readonly InPython[], limits: Attempt['limits'] = SMALL): Attempt[] {
  return cells.map(([code, expected]) => {
    const list = typeof code === 'string' ? [code] : code;
    return { family, language: 'python', name: list.join(' ⏎ '), cells: list, limits, ...expected };
  });
}
