/** Reads a whole number of a command line. Throws an error that names the option. */
export function count(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} is "${text}": write a whole number of at least ${least}`);
}

/** Reads one of several words of a command line. Throws an error that lists them. */
export function oneOf<Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw new Error(`--${name} has "${text}": choose of ${words.join(', ')}`);
}
