import { parseArgs } from 'node:util';
import { FAMILIES, type Family } from './attempts/attempt.ts';

/** The options of the command line, checked. */
export interface EscapeOptions {
  families: readonly Family[];
  /** Only attempts whose name contains this text; empty: all. */
  only: string;
  /** If true, a line with the figures comes before the closing line, for a machine to read. */
  json: boolean;
}

/** The usage of the command. */
export const USAGE = `Usage: npm run escape -- [--family ${FAMILIES.join(',')}] [--only text] [--json]`;

/** Reads the command line. Throws an error whose message describes the mistake. */
export function parseOptions(args: readonly string[]): EscapeOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      family: { type: 'string', default: FAMILIES.join(',') },
      only: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
    },
  });
  return { families: values.family.split(',').map(family), only: values.only, json: values.json };
}

function family(text: string): Family {
  const known = FAMILIES.find((one) => one === text);
  if (known !== undefined) return known;
  throw new Error(`--family is "${text}": choose of ${FAMILIES.join(', ')}`);
}
