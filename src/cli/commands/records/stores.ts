import { statSync } from 'node:fs';
import { fileArchive } from '../../../stores/file-archive.ts';
import type { LonghaulClientOptions } from '../../../client/client-options.ts';
import { UsageError } from '../../../core/domain/errors.ts';
import { fileStore } from '../../../stores/payload-store.ts';
import type { Output } from '../../output.ts';

/** The options that name the stores of runs. */
export interface StoreFlags {
  /** The folder of a file archive. */
  archive?: string;
  /** The folder of a file store. */
  payloadStore?: string;
}

/** The kinds of stores that hold parts of a run, with the options that name them. */
const STORE_OPTIONS = { payloadStore: '--payload-store', archive: '--archive' } as const;
type RunStore = keyof typeof STORE_OPTIONS;

/** Opens the stores that the options name. Throws a UsageError for a folder that does not exist: it would be created, and the store of the worker would stay as it is. */
export function storesIn({ archive, payloadStore }: StoreFlags): Pick<LonghaulClientOptions, 'archive' | 'payloadStore'> {
  for (const [option, path] of Object.entries({ '--archive': archive, '--payload-store': payloadStore })) {
    if (path !== undefined) requireFolder(option, path);
  }
  return {
    ...(archive === undefined ? {} : { archive: fileArchive({ directory: archive }) }),
    ...(payloadStore === undefined ? {} : { payloadStore: fileStore({ directory: payloadStore }) }),
  };
}

function requireFolder(option: string, path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new UsageError(`${option} names "${path}", which does not exist: write the folder that your workers have`);
  if (!found.isDirectory()) throw new UsageError(`${option} names "${path}", which is no folder: write the folder that your workers have`);
}

/** Returns the kinds of stores of runs that the options do not name. */
export function storesLeft({ archive, payloadStore }: StoreFlags): RunStore[] {
  return [...(payloadStore === undefined ? ['payloadStore' as const] : []), ...(archive === undefined ? ['archive' as const] : [])];
}

/** Says that nothing was removed from the stores of these kinds, if there are some. */
export function sayStoresLeft(output: Output, stores: readonly RunStore[]): void {
  if (stores.length === 0) return;
  output.note(`Other stores are as they were: name those of your workers with ${stores.map((store) => STORE_OPTIONS[store]).join(', ')}`);
}
