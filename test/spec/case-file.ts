import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { INFORMATIONAL_KEYS } from './match.ts';

/** Keys of a case that inform the reader. */
const INFORMATION = ['basis', 'upstream', 'upstream_behaviour', 'note', ...INFORMATIONAL_KEYS];

const specCaseSchema = z
  .looseObject({
    id: z.string(),
    title: z.string().default(''),
    op: z.string(),
    level: z.string().default('must'),
    input: z.json().default({}),
    expect: z.json(),
  })
  .transform(({ id, title, op, level, input, expect, ...others }) => {
    const unknownKeys = Object.keys(others).filter((key) => !INFORMATION.includes(key));
    return { id, title, op, level, input, expect, unknownKeys };
  });

const caseFileSchema = z.strictObject({
  suite: z.string(),
  title: z.string().default(''),
  format: z.literal(1),
  source: z.json().optional(),
  operations: z.record(z.string(), z.string()).default({}),
  count: z.int().optional(),
  cases: z.array(specCaseSchema),
});

/** One case: an operation, its input, and the expected outcome. */
export interface SpecCase {
  id: string;
  title: string;
  op: string;
  level: string;
  input: JsonValue;
  expect: JsonValue;
  /** Keys of the case that are not in the format: such a case fails. */
  unknownKeys: string[];
}

/** A file of cases, or the reason why it cannot be read. */
export type CaseFile =
  | { type: 'cases'; path: string; suite: string; cases: SpecCase[] }
  | { type: 'broken'; path: string; problem: string };

/** The given directory cannot be replayed. */
export class BadDirectory extends Error {
  override readonly name = 'BadDirectory';
}

/** Reads every case file (`*.json`) of a directory, in the order of their names. Throws `BadDirectory` if there are none. */
export function readCaseFiles(directory: string): CaseFile[] {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new BadDirectory(`"${directory}" is not a directory. Pass the directory that holds the case files.`);
  }
  const names = readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .toSorted();
  if (names.length === 0) throw new BadDirectory(`"${directory}" holds no case files (*.json).`);
  return names.map((name) => readCaseFile(join(directory, name)));
}

function readCaseFile(path: string): CaseFile {
  try {
    const { suite, cases } = caseFileSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    return { type: 'cases', path, suite, cases };
  } catch (error) {
    const problem = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    return { type: 'broken', path, problem };
  }
}
