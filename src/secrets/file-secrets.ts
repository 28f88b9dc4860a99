import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../core/domain/errors.ts';
import type { NamedSecretSource } from './secret-source.ts';

/** The options of secrets in files. */
export interface FileSecretsOptions {
  /**
   * The folder with one file per secret, named like the secret: `/run/secrets` in Docker, the mount path of the
   * volume in Kubernetes.
   */
  directory: string;
}

/** Error codes for a file that does not exist, unlike those for a file that cannot be read. */
const ABSENT = ['ENOENT', 'ENOTDIR', 'EISDIR'];

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
    if (error instanceof Error && 'code' in error && ABSENT.includes(String(error.code))) return undefined;
    throw error;
  }
}
