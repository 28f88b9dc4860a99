import { RESERVED_WORDS } from './reserved-words.ts';

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** True for a text that can be the name of a variable in all code. */
export function isVariableName(name: string): boolean {
  return IDENTIFIER.test(name) && !RESERVED_WORDS.has(name);
}
