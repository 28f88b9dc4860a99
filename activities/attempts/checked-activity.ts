import { ApplicationFailure } from '@temporalio/common';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { toFailure } from '../failures/failure.ts';
import type { SecretVault } from '../secrets/secret-vault.ts';
import { logStray, reportingStrays } from './stray-rejections.ts';
import type { Fitting } from '../failures/serializable-failure.ts';

/**
 * An activity of which nothing leaves that its worker could not report: hooks, tools and models may throw what they
 * like, and leave promises unhandled. Its failures are made of sound parts, have nothing of the secrets that the vault has read, and fit; what it
 * returns is JSON.
 */
export function checkedActivity<Input, Output>(
  vault: SecretVault,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  const fitting = withoutSecrets(vault);
  return async (input) => {
    try {
      const report = logStray((reason) => toFailure(reason, 'internal', { fitting }));
      return requireJson(await reportingStrays(report, () => activity(input)));
    } catch (error) {
      throw toFailure(error, 'internal', { fitting });
    }
  };
}

/** Takes out of a failure what the vault has read, and cuts what does not fit. */
export function withoutSecrets(vault: SecretVault): Fitting {
  return {
    // Without secrets before it is cut: a part of one would not be found.
    text: (text, maxBytes) => cutText(vault.redact(text), maxBytes),
    json: (value) => vault.redactJson(value),
  };
}

/** No code of the table: a run would take that for a tool that has not begun. */
function requireJson<Output>(output: Output): Output {
  try {
    JSON.stringify(output);
    return output;
  } catch {
    throw ApplicationFailure.nonRetryable('What the activity returns is not JSON: it cannot be recorded', 'result_not_json');
  }
}
