import { cutText } from './domain/byte-budgets.ts';
import type { JsonValue } from './domain/json.ts';
import { fittingUnits } from './domain/program-run.ts';
import type { RunResultFields } from './domain/result.ts';
import { utf8Length, utf8Prefix } from './domain/text.ts';

/** The most bytes of output in the closing event of a run. The record of events holds the whole, which readers of the result get. */
const CLOSING_OUTPUT_BYTES = 46_000;
const CLOSING_ERROR_BYTES = 4_000;

/** The most bytes of the units of a program in the closing event. */
const CLOSING_UNITS_BYTES = 12_000;

/** Returns a result without its steps and with a bounded output, so that content is not stored a second time. */
export function closingResult({ steps: _, ...whole }: RunResultFields): RunResultFields {
  const rest = withBoundedDetails(whole);
  const text = typeof rest.output === 'string' ? rest.output : JSON.stringify(rest.output);
  if (utf8Length(text) <= CLOSING_OUTPUT_BYTES) return rest;
  const output: JsonValue = utf8Prefix(text, CLOSING_OUTPUT_BYTES);
  return { ...rest, output, outputTruncated: true };
}

/** Returns a result as its readers get it: with the whole output, and with a bounded error and bounded units of a program. */
export function withBoundedDetails(result: RunResultFields): RunResultFields {
  const { error, units } = result;
  return {
    ...result,
    ...(units === undefined ? {} : fittingUnits(units, CLOSING_UNITS_BYTES)),
    error: error === null ? null : cutText(error, CLOSING_ERROR_BYTES),
  };
}
