import { ApplicationFailure } from '@temporalio/common';
import { CancelledFailure, upsertMemo } from '@temporalio/workflow';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { fittingUnits } from '../../src/core/domain/program/fitting-units.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import { utf8Length, utf8Prefix } from '../../src/core/domain/content/text.ts';
import { RESULT_MEMO } from '../../src/core/protocol.ts';
import { cancelReason } from '../interceptors/cancellation.ts';

/** The most bytes of output in the closing event of a run. The record of events holds the whole. */
const CLOSING_OUTPUT_BYTES = 46_000;
const CLOSING_ERROR_BYTES = 4_000;

/** The most bytes of the units of a program in the closing event. */
const CLOSING_UNITS_BYTES = 12_000;

/**
 * Closes the run: `completed`, `max_iterations_reached` and `limit_reached` return and close as Completed, `error` throws and closes as
 * Failed, `cancelled` throws and closes as Canceled. The result, without its steps, can be read with no worker running:
 * from the return value, the details of the failure, or the memo. `announced` is the reason of a cancellation whose
 * request has none.
 */
export function close(result: RunResultFields, announced?: string): RunResultFields {
  const closing = compact(result);
  switch (closing.status) {
    case 'completed':
    case 'max_iterations_reached':
    case 'limit_reached':
      return closing;
    case 'error': {
      const failure = ApplicationFailure.create({
        type: closing.errorCode ?? 'internal',
        message: closing.error ?? 'The run failed',
        nonRetryable: true,
        details: [closing],
      });
      // A stack would name files on the worker's machine, and says nothing about the run.
      failure.stack = '';
      throw failure;
    }
    case 'cancelled': {
      const reason = cancelReason() ?? announced;
      const cancelled = reason === undefined ? closing : { ...closing, cancelReason: reason };
      upsertMemo({ [RESULT_MEMO]: cancelled });
      throw new CancelledFailure(reason ?? 'The run was cancelled');
    }
  }
}

/** Returns the result without its steps and with a bounded output, so that content is not stored a second time. */
function compact({ steps: _, ...whole }: RunResultFields): RunResultFields {
  const rest = whole.units === undefined ? whole : { ...whole, ...fittingUnits(whole.units, CLOSING_UNITS_BYTES) };
  const text = typeof rest.output === 'string' ? rest.output : JSON.stringify(rest.output);
  const error = rest.error === null ? null : utf8Prefix(rest.error, CLOSING_ERROR_BYTES);
  if (utf8Length(text) <= CLOSING_OUTPUT_BYTES) return { ...rest, error };
  const output: JsonValue = utf8Prefix(text, CLOSING_OUTPUT_BYTES);
  return { ...rest, error, output, outputTruncated: true };
}
