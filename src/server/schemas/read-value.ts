import type { z } from 'zod';
import type { JsonValue } from '../../core/domain/json.ts';
import { didYouMean } from '../../core/domain/text.ts';
import { shortJson } from '../../core/json-schema/json-schema.ts';
import { MISSING } from './expecting.ts';
import { MOST_PROBLEMS } from './values.ts';

/** One invalid part of a value. */
export interface ValueProblem {
  path: readonly PropertyKey[];
  /** What is wrong with this part, in the words of the product: texts of the schema library mean nothing to a caller. */
  detail: string;
}

type ReadValue<Value> = { ok: true; value: Value } | { ok: false; problems: ValueProblem[] };

type Issue = z.core.$ZodIssue;

/** The names that an object may have, by the list of its unknown names. An issue has only the latter. */
type KnownNames = WeakMap<readonly string[], readonly string[]>;

/** Returns a value as a schema reads it, or its invalid parts. `noun`: what a member of the value is for the caller. */
export function readValue<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  noun: 'field' | 'parameter' = 'field',
): ReadValue<z.output<Schema>> {
  const known: KnownNames = new WeakMap();
  const read = schema.safeParse(value, {
    reportInput: true,
    error(issue) {
      if (issue.code === 'unrecognized_keys') known.set(issue.keys, namesOf(issue.inst));
      return detailOf(issue as Issue);
    },
  });
  if (read.success) return { ok: true, value: read.data };
  const problems = flattened(read.error.issues, { known, noun });
  // A list with too many items has two issues: one of the check of its size, and one of its schema.
  const distinct = new Map(problems.map((one) => [JSON.stringify([one.path.map(String), one.detail]), one]));
  return { ok: false, problems: [...distinct.values()].slice(0, MOST_PROBLEMS) };
}

function namesOf(schema: unknown): string[] {
  const { shape = {} } = (schema as { _zod?: { def?: { shape?: object } } } | undefined)?._zod?.def ?? {};
  return Object.keys(shape);
}

/** Splits issues: one for each unknown member, and for a union, those of the closest branch. */
function flattened(
  issues: readonly Issue[],
  context: { known: KnownNames; noun: string },
  above: readonly PropertyKey[] = [],
): ValueProblem[] {
  return issues.flatMap((issue): ValueProblem[] => {
    const path = [...above, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      const names = context.known.get(issue.keys) ?? [];
      return issue.keys.slice(0, MOST_PROBLEMS).map((key) => ({
        path: [...path, key],
        detail: `unknown ${context.noun} ${shortJson(key)}${didYouMean(key, names)}`,
      }));
    }
    const branches = issue.code === 'invalid_union' ? issue.errors.map((branch) => flattened(branch, context, path)) : [];
    // A value that matches a branch except for a mistake has issues deeper down; a value of another form has one at its own path.
    const [closest] = branches
      .filter((branch) => branch.some((one) => one.path.length > path.length))
      .toSorted((a, b) => a.length - b.length);
    return closest ?? [{ path, detail: issue.message }];
  });
}

function detailOf(issue: Issue): string {
  const input = inputOf(issue);
  if (input === undefined) return MISSING;
  const expected = expectationsOf(issue);
  if (expected.length === 0) return 'does not have the expected form';
  const text = `expected ${expected.slice(0, -1).join(', ')}${expected.length > 1 ? ' or ' : ''}${expected.at(-1)}`;
  const fixed = fixedValues(issue);
  return `${text}, got ${gotOf(issue)}${didYouMean(input, fixed)}`;
}

/** Returns the value with a problem. For a union whose parts are told apart by a member, the issue is about this member. */
function inputOf(issue: Issue): unknown {
  const { input } = issue;
  if (issue.code !== 'invalid_union' || !('discriminator' in issue) || typeof input !== 'object' || input === null) return input;
  return (input as Record<string, unknown>)[String(issue.discriminator)];
}

/** Returns what a value may be instead, as alternatives. Empty if only the schema knows. */
function expectationsOf(issue: Issue): string[] {
  switch (issue.code) {
    case 'invalid_type':
      return [TYPES[issue.expected] ?? issue.expected];
    case 'invalid_value':
      return issue.values.map((one) => shortJson(one as JsonValue));
    case 'too_big':
      return [`at most ${amount(issue.maximum, issue)}`];
    case 'too_small':
      return [issue.inclusive === false ? `more than ${amount(issue.minimum, issue)}` : `at least ${amount(issue.minimum, issue)}`];
    case 'invalid_union': {
      const fixed = fixedValues(issue);
      if (fixed.length > 0) return fixed.map((one) => shortJson(one));
      return [...new Set(issue.errors.flatMap((branch) => branch.slice(0, 1).flatMap(expectationsOf)))];
    }
    default:
      return [];
  }
}

/** The names of types that JSON does not have. */
const TYPES: Readonly<Record<string, string>> = { record: 'object', int: 'integer' };

const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item' };

function amount(bound: number | bigint, { origin }: { origin: string }): string {
  const unit = UNITS[origin];
  return unit === undefined ? String(bound) : `${bound} ${unit}${bound === 1 ? '' : 's'}`;
}

/** Returns the texts that a value may be. */
function fixedValues(issue: Issue): string[] {
  const values =
    issue.code === 'invalid_value'
      ? issue.values
      : issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options)
        ? (issue.options as unknown[])
        : [];
  return values.filter((one) => typeof one === 'string');
}

/** Returns what was given: the type if another was expected, the size of what is too small or too large, otherwise the value. */
function gotOf(issue: Issue): string {
  const input = inputOf(issue) as JsonValue;
  const isType = (one: Issue): boolean =>
    one.code === 'invalid_type' ||
    (one.code === 'invalid_union' && one.errors.length > 0 && one.errors.every(([first]) => first !== undefined && isType(first)));
  if (issue.code === 'too_big' || issue.code === 'too_small') {
    const size = typeof input === 'string' || Array.isArray(input) ? input.length : undefined;
    return size === undefined ? shortJson(input) : String(size);
  }
  if (!isType(issue) || typeof input === 'number') return shortJson(input);
  return input === null ? 'null' : Array.isArray(input) ? 'array' : typeof input;
}
