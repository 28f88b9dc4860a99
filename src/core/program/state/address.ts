/** One execution of a step: the unit, the step, and the index of the item or round of each block around it. */
export interface StepAddress {
  unit: string;
  step: string;
  /** From the outermost block to the innermost, each from 0. */
  indexes: readonly number[];
}

/** Returns the text of an address: `fan.Sum[3]`. */
export function addressText({ unit, step, indexes }: StepAddress): string {
  return `${unit}.${step}${indexes.map((index) => `[${index}]`).join('')}`;
}

/** Reads the text of an address. Throws a TypeError for any other text. */
export function parseAddress(text: string): StepAddress {
  const [, unit, step, indexes = ''] = /^([^.[\]]+)\.([^.[\]]+)((?:\[\d+\])*)$/.exec(text) ?? [];
  if (unit === undefined || step === undefined) throw new TypeError(`"${text}" is no address of a step`);
  return { unit, step, indexes: [...indexes.matchAll(/\d+/g)].map(([index]) => Number(index)) };
}

/** Returns the id of a call of a step: its address, with the number of the attempt from the second one on. */
export function callIdAt(at: string, attempts: number, suffix = ''): string {
  return `${at}${suffix}${attempts > 1 ? `#${attempts}` : ''}`;
}
