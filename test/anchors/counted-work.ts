import { PatternSteps } from './pattern-steps.ts';

const exec = RegExp.prototype.exec;
const indexOf = String.prototype.indexOf;
const substring = String.prototype.substring;

/** One search of a text with an expression. */
interface Search {
  pattern: RegExp;
  text: string;
  from: number;
}

const known = new Map<string, PatternSteps>();

/**
 * Counts the characters that a function reads of texts: with regular expressions, as an engine that backtracks reads them, and by
 * searching and slicing. Counts are the same on any machine.
 */
export function countedWork(work: () => unknown): number {
  const searches: Search[] = [];
  let read = 0;
  const note = (pattern: RegExp, text: string): void => {
    searches.push({ pattern, text, from: pattern.sticky || pattern.global ? pattern.lastIndex : 0 });
  };
  const restore = [
    replaced(RegExp.prototype, 'exec', function counted(this: RegExp, text: string) {
      note(this, text);
      return exec.call(this, text);
    }),
    replaced(RegExp.prototype, 'test', function counted(this: RegExp, text: string) {
      note(this, text);
      return exec.call(this, text) !== null;
    }),
    replaced(String.prototype, 'indexOf', function counted(this: string, text: string, from = 0) {
      const found = indexOf.call(this, text, from);
      read += (found === -1 ? this.length : found) - from + 1;
      return found;
    }),
    replaced(String.prototype, 'slice', function counted(this: string, from = 0, to = this.length) {
      const part = substring.call(this, from < 0 ? this.length + from : from, to < 0 ? this.length + to : to);
      read += part.length + 1;
      return part;
    }),
  ];
  try {
    work();
  } finally {
    for (const one of restore) one();
  }
  return searches.reduce((sum, search) => sum + stepsOf(search), read);
}

function stepsOf({ pattern, text, from }: Search): number {
  const key = String(pattern);
  const steps = known.get(key) ?? new PatternSteps(pattern);
  known.set(key, steps);
  return steps.search(text, from);
}

/** Replaces a method, and returns the function that puts it back. */
function replaced(prototype: object, name: string, method: unknown): () => void {
  const original = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
  Object.defineProperty(prototype, name, { ...original, value: method });
  return () => {
    Object.defineProperty(prototype, name, original);
  };
}
