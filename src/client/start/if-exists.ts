import { LonghaulError } from '../../core/domain/errors.ts';

/** The actions if the run id of a start is taken. */
export const IF_EXISTS = ['fail', 'return', 'restartFailed'] as const;

/** One of `IF_EXISTS`. */
export type IfExists = (typeof IF_EXISTS)[number];

/** Returns the option if it is valid. Throws `invalid_input`. */
export function checkIfExists(value: unknown): IfExists {
  const choice = value === undefined ? 'fail' : IF_EXISTS.find((one) => one === value);
  if (choice !== undefined) return choice;
  throw new LonghaulError(
    'invalid_input',
    `The run cannot start: "ifExists" is ${JSON.stringify(value)}: write "fail", "return" or "restartFailed"`,
  );
}
