import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../core/domain/errors.ts';

/**
 * Reads one secret, for example from a secrets manager. Returns undefined if there is no secret with this name. The
 * call is retried if this throws.
 */
export type SecretProvider = (name: string) => string | undefined | Promise<string | undefined>;

/** A source of secrets that can describe where it reads them. */
export interface NamedSecretSource {
  /** Returns the location of a secret, for the message that it is missing: `the environment variable CRM_TOKEN`. */
  where(name: string): string;
  /**
   * Returns the value, or undefined if there is no secret with this name. The call is retried if this throws, and
   * repeated after some minutes to refresh the value.
   */
  read: SecretProvider;
}

/** The source of a worker's secrets: `environmentSecrets()`, `fileSecrets({directory})`, or your own function. */
export type SecretSource = SecretProvider | NamedSecretSource;

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

/** The options of secrets in files. */
export interface FileSecretsOptions {
  /**
   * The folder with one file per secret, named like the secret: `/run/secrets` in Docker, the mount path of the
   * volume in Kubernetes.
   */
  directory: string;
}

/** Error codes for a file that does not exist, unlike those for a file that cannot be read. */
const ABSENT_CODES = ['ENOENT', 'ENOTDIR', 'EISDIR'];

/**
 * Creates a source of secrets in files, as Docker and Kubernetes mount them. One line break at the end of a file is
 * not part of the value. A name cannot lead to a file outside the directory, but a link in the directory is followed.
 * Throws a UsageError without a directory.
 */
export function fileSecrets(options: FileSecretsOptions): NamedSecretSource {
  if (typeof options?.directory !== 'string' || options.directory === '') {
    throw new UsageError('fileSecrets: "directory" is missing: write the path of the folder with one file per secret');
  }
  const root = path.resolve(options.directory);
  return {
    where: (name) => `the file ${path.join(root, name)}`,
    read: (name) => readWithin(root, name),
  };
}

async function readWithin(root: string, name: string): Promise<string | undefined> {
  const file = path.resolve(root, name);
  if (!file.startsWith(root.endsWith(path.sep) ? root : root + path.sep)) return undefined;
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    if (error instanceof Error && 'code' in error && ABSENT_CODES.includes(String(error.code))) return undefined;
    throw error;
  }
}
