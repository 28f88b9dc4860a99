import { parseArgs } from 'node:util';
import { FAMILIES, type Family } from './attempts/attempt.ts';

/** The options of the command line, checked. */
export interface EscapeOptions {
  families: readonly Family[];
  /** Only attempts whose name contains this text; empty: all. */
  only: string;
  /** 3: every third one of the attempts, and so on. */
  every: number;
  /** With `every`, the first of the attempts: 0 is the first one. Turns go round, so any number is one. */
  turn: number;
  /** Repeats attempts that only exceeded their limits, alone, after all others. An escape is never repeated. */
  retry: boolean;
  /** If true, a line with the figures comes before the closing line, for a machine to read. */
  json: boolean;
}

/** The usage of the command. */
export const USAGE = `Usage: npm run escape -- [--family ${FAMILIES.join(',')}] [--only text] [--every 1] [--turn 0] [--retry] [--json]`;

/** Reads the command line. Throws an error whose message describes the mistake. */
export function parseOptions(args: readonly string[]): EscapeOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      family: { type: 'string', default: FAMILIES.join(',') },
      only: { type: 'string', default: '' },
      every: { type: 'string', default: '1' },
      turn: { type: 'string', default: '0' },
      retry: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const { only, retry, json } = values;
  const families = values.family.split(',').map(family);
  return { families, only, every: count('every', values.every, 1), turn: count('turn', values.turn, 0), retry, json };
}

function count(name: string, text: string, least: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
  throw new Error(`--${name} is "${text}": write a whole number of at least ${least}`);
}

function family(text: string): Family {
  const known = FAMILIES.find((one) => one === text);
  if (known !== undefined) return known;
  throw new Error(`--family is "${text}": choose of ${FAMILIES.join(', ')}`);
}
