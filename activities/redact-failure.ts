import { ApplicationFailure } from '@temporalio/common';
import { cleanJson } from '../src/model/clean-json.ts';
import type { SecretVault } from './secret-vault.ts';

/** An activity whose failures say nothing of the secrets that the vault has read: hooks, `verify` and instructions may throw what they like. */
export function failingWithoutSecrets<Input, Output>(
  vault: SecretVault,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      throw vault.isUnused ? error : redactFailure(vault, error);
    }
  };
}

/** The error without secrets; the same where it has none, because Temporal knows some of its errors by what they are. */
function redactFailure(vault: SecretVault, error: unknown): unknown {
  if (!(error instanceof Error)) return vault.redactJson(cleanJson(error) ?? null);
  const { message, name, stack = '' } = error;
  const cause = error.cause === undefined ? undefined : redactFailure(vault, error.cause);
  const details = error instanceof ApplicationFailure ? (cleanJson(error.details ?? []) ?? []) : [];
  if (cause === error.cause && vault.leak([message, name, stack, details]) === undefined) return error;
  const redacted = error instanceof ApplicationFailure ? applicationFailure(vault, error) : new Error(vault.redact(message));
  return Object.assign(redacted, { stack: vault.redact(stack), ...(cause === undefined ? {} : { cause }) });
}

/** What Temporal does with it stays: its type, its wait, whether it is tried again. */
function applicationFailure(
  vault: SecretVault,
  { message, type, nonRetryable, details, nextRetryDelay, category }: ApplicationFailure,
): ApplicationFailure {
  return ApplicationFailure.create({
    message: vault.redact(message),
    nonRetryable: nonRetryable === true,
    ...(typeof type === 'string' ? { type: vault.redact(type) } : {}),
    ...(details ? { details: details.map((one) => vault.redactJson(cleanJson(one) ?? null)) } : {}),
    ...(nextRetryDelay ? { nextRetryDelay } : {}),
    ...(category ? { category } : {}),
  });
}
