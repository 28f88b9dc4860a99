import { ApplicationFailure } from '@temporalio/common';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { toFailure } from '../failures/failure.ts';
import type { SecretVault } from '../secrets/secret-vault.ts';
import { rejectionLogger, reportingRejections } from './unhandled-rejections.ts';
import type { Sanitizer } from '../failures/serializable-failure.ts';

/**
 * Wraps an activity so that its worker can report everything that leaves it, although hooks, tools and models may throw
 * any value and leave promises unhandled. Its failures are serializable, limited in size and free of the secrets that
 * the vault has read; its result is JSON.
 */
export function checkedActivity<Input, Output>(
  vault: SecretVault,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  const sanitizer = secretSanitizer(vault);
  return async (input) => {
    try {
      const report = rejectionLogger((reason) => toFailure(reason, 'internal', { sanitizer }));
      return requireJson(await reportingRejections(report, () => activity(input)));
    } catch (error) {
      throw toFailure(error, 'internal', { sanitizer });
    }
  };
}

/** Returns a fitting that redacts secrets from a failure and cuts long texts. */
export function secretSanitizer(vault: SecretVault): Sanitizer {
  return {
    // Secrets are redacted before the text is cut: a part of one would not be found.
    text: (text, maxBytes) => cutText(vault.redact(text), maxBytes),
    json: (value) => vault.redactJson(value),
  };
}

/**
 * Throws if the output is not JSON. The failure's type is not an error code of Longhaul: a run would take such a code
 * to mean that the tool has not begun.
 */
function requireJson<Output>(output: Output): Output {
  try {
    JSON.stringify(output);
    return output;
  } catch {
    throw ApplicationFailure.nonRetryable('What the activity returns is not JSON: it cannot be recorded', 'result_not_json');
  }
}
