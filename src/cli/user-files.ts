import { statSync, type Stats } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorMessage, memberOf, UsageError } from '../core/domain/errors.ts';

/** What is wrong with a file, by the code of the system, in words that a person reads. */
const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist: a part of its path is a file',
  EISDIR: 'is a folder: name a file',
  EACCES: 'may not be used by the user of this process',
  EPERM: 'may not be used by the user of this process',
  EROFS: 'is on a disk that cannot be written',
  ENOSPC: 'cannot be written: the disk is full',
  ELOOP: 'is a link that leads back to itself',
  ENAMETOOLONG: 'has a name that is too long',
};

/** Reads a text file that the user named. Throws a UsageError that says what the file is for, and what is wrong with it. */
export async function readUserFile(path: string, noun: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`The ${noun} "${path}" ${faultOf(error, 'cannot be read')}${lookedFor(path, error)}`, { cause: error });
  }
}

/** Returns the error for a file that the user named and that cannot be written. */
export function unwritable(path: string, error: unknown): UsageError {
  // Of a file that is about to be made, the folder is what does not exist.
  const fault =
    memberOf(error, 'code') === 'ENOENT'
      ? 'is in a folder that does not exist: make the folder first'
      : faultOf(error, 'cannot be written');
  return new UsageError(`Nothing can be written: "${path}" ${fault}`, { cause: error });
}

/** Throws a UsageError unless the path is a file. `what` begins the message: `--memory names`. */
export function requireFile(path: string, what: string): void {
  const found = foundAt(path, what);
  if (found === undefined) throw new UsageError(`${what} "${path}", which does not exist`);
  if (found.isDirectory()) throw new UsageError(`${what} "${path}", which is a folder: name a file`);
}

/** Returns what is at the path; undefined if nothing is. Throws a UsageError if the system does not tell. */
export function foundAt(path: string, what: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw new UsageError(`${what} "${path}", which ${faultOf(error, 'cannot be read')}`, { cause: error });
  }
}

/** Throws a UsageError if the path is a folder: a file of that name cannot be written. */
export function refuseFolder(path: string): void {
  if (foundAt(path, 'The output is to be')?.isDirectory() === true) throw unwritable(path, { code: 'EISDIR' });
}

function faultOf(error: unknown, otherwise: string): string {
  return FAULTS[String(memberOf(error, 'code'))] ?? `${otherwise}: ${errorMessage(error)}`;
}

/** A path that is missing may be relative to a folder that the user did not expect. */
function lookedFor(path: string, error: unknown): string {
  const isMissing = memberOf(error, 'code') === 'ENOENT';
  return isMissing && resolve(path) !== path ? ` (looked for "${resolve(path)}")` : '';
}
