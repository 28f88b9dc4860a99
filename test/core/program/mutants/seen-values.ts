import type { JsonValue } from '../../../../src/core/domain/json.ts';
import type { ProgramState } from '../../../../src/core/domain/program-run.ts';
import { askPromptTexts } from '../../../../src/core/program/ask.ts';
import { addressText, blocksAround, indexOf, parseAddress } from '../../../../src/core/program/program-index.ts';
import { contextOf, lookupAt, lookupOf, neededAddresses, resolveValue } from '../../../../src/core/program/references.ts';

/** The part of a call of a program's activity that says what it reads. */
interface ReadingCall {
  address: string;
  outputs: Record<string, string>;
  /** A person has edited what it reads. */
  edited?: true;
}

/**
 * Returns why an activity reads something wrong: other values than the run itself would find, or, in a program that is not lenient, a
 * step of its unit that has not run. Undefined if all is well.
 */
export function wrongValues(program: ProgramState, { address, outputs, edited }: ReadingCall): string | undefined {
  if (edited) return undefined;
  const { document, input, steps } = program;
  const at = parseAddress(address);
  const { unit, step } = indexOf(document).get(at.unit, at.step);
  const read: JsonValue = step.ask === undefined ? { ...step.remember, ...step.recall } : { ...askPromptTexts(unit, step.ask) };
  const found = Object.keys(outputs).map((one): [string, JsonValue | undefined] => [one, steps.get(one)?.output]);
  const missing = found.find(([, output]) => output === undefined);
  if (missing !== undefined) return `step "${address}" finds no output of "${missing[0]}"`;
  const context = contextOf(input, found as [string, JsonValue][]);
  const { lenient } = document;
  const own = JSON.stringify(resolveValue(read, lookupAt(program, at), { lenient }));
  const seen = JSON.stringify(resolveValue(read, lookupOf(document, context, at), { lenient }));
  if (own !== seen) return `step "${address}" reads ${seen}, and not ${own}`;
  const early = lenient === true ? undefined : neededAddresses(program, at, read).find((one) => !hasRun(program, one, at.unit));
  return early === undefined ? undefined : `step "${address}" reads "${early}", which has not run`;
}

/** True for a step of another unit, which may have failed, and for one that has ended or is inside a skipped block. */
function hasRun({ document, steps }: ProgramState, address: string, unit: string): boolean {
  const at = parseAddress(address);
  const statusOf = (text: string): string | undefined => steps.get(text)?.status;
  const isSkipped = blocksAround(indexOf(document), at).some((one) => statusOf(addressText(one)) === 'skipped');
  return at.unit !== unit || isSkipped || statusOf(address) === 'completed';
}
