import { UsageError } from '../core/domain/errors/error.ts';
import type { NamedSecretSource } from './secret-source.ts';

/** Which environment variables are secrets. */
export interface EnvironmentSecretsOptions {
  /** Begins the name of every variable. Default: nothing. With `LONGHAUL_SECRET_`, no other variable can be read by a name. */
  prefix?: string;
}

/**
 * Secrets in environment variables: `crm-token` is in `CRM_TOKEN`, in capitals and with `_` for everything that is
 * neither a letter nor a digit. The environment is read when a secret is. Throws a UsageError for a prefix that no
 * variable can begin with.
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
