import { UsageError } from '../core/domain/errors.ts';
import type { NamedSecretSource } from './secret-source.ts';

/** The options of secrets in environment variables. */
export interface EnvironmentSecretsOptions {
  /**
   * A prefix of all variable names, such as `LONGHAUL_SECRET_`: then no secret name can refer to another variable.
   * Default: none.
   */
  prefix?: string;
}

/**
 * Creates a source of secrets in environment variables: `crm-token` is read from `CRM_TOKEN`, in capitals and with
 * `_` for every character that is neither a letter nor a digit. The environment is read each time a secret is needed.
 * Throws a UsageError for a prefix that no variable can begin with.
 */
export function environmentSecrets({ prefix = '' }: EnvironmentSecretsOptions = {}): NamedSecretSource {
  if (typeof prefix !== 'string' || !/^(?:[A-Za-z_][A-Za-z0-9_]*)?$/.test(prefix)) {
    throw new UsageError(`environmentSecrets: "prefix" is ${JSON.stringify(prefix)}: use letters, digits and "_"`);
  }
  const variable = (name: string): string => prefix + name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');
  return {
    where: (name) => `the environment variable ${variable(name)}`,
    read: (name) => process.env[variable(name)],
  };
}
