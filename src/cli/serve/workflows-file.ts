import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '../../core/domain/errors.ts';

/** Returns the file of the user's own workflows, as the worker takes it. Throws a UsageError if it is not a file. */
export function workflowsFile(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const file = resolve(path);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
  throw new UsageError(`The workflows module "${path}" is not a file (looked for "${file}"): name the file, such as ./workflows.ts`);
}
