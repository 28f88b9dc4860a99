/** A condition that must hold, and every case where it did not. */
export interface Check {
  name: string;
  problems: string[];
}

/** The number of cases of one check that are printed. */
const SHOWN = 10;

/** A check as lines: one if it holds, or one for each case where it did not. */
export function checkLines(part: string, { name, problems }: Check): string[] {
  if (problems.length === 0) return [`ok ${part}: ${name}`];
  const more = problems.length > SHOWN ? [`    … and ${problems.length - SHOWN} more`] : [];
  return [`FAILED ${part}: ${name}`, ...problems.slice(0, SHOWN).map((problem) => `    ${problem}`), ...more];
}

/** The closing line. */
export function closingLine(checks: readonly Pick<Check, 'problems'>[]): string {
  const failed = checks.filter(({ problems }) => problems.length > 0).length;
  return `${checks.length - failed} passed, ${failed} failed`;
}

/** The sentence, if the condition does not hold. */
export function unless(holds: boolean, problem: string): string[] {
  return holds ? [] : [problem];
}
