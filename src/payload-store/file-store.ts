import { type Payload, StorageDriverClaim, type StorageDriverStoreContext } from '@temporalio/common';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { LonghaulError, UsageError } from '../core/domain/errors/error.ts';
import { payloadFile, payloadOf } from './payload-file.ts';
import type { PayloadStore, StoredRun } from './payload-store.ts';
import { runFolder, writeWhole } from './run-folder.ts';

/** Where a file store keeps its files. */
export interface FileStoreOptions {
  /** Made when something is stored. Every worker and client of a run must see the same files. */
  directory: string;
  /** Recorded with everything that is stored: a store of the same name must be there to read it. Default `files`. */
  name?: string;
}

/**
 * A payload store in the file system: one folder per run, one file per content, named by the SHA-256 of what is in
 * it. A file appears as a whole or not at all. Throws a UsageError without a directory.
 */
export function fileStore(options: FileStoreOptions): PayloadStore {
  if (typeof options.directory !== 'string' || options.directory === '') {
    throw new UsageError('fileStore: "directory" is missing: write the path of a folder that every worker and client sees');
  }
  const root = path.resolve(options.directory);
  const name = options.name ?? 'files';
  return {
    name,
    type: 'longhaul.files',
    store: (context, payloads) => Promise.all(payloads.map((payload) => storeOne(root, runOf(context), payload))),
    retrieve: (_, claims) => Promise.all(claims.map(({ claimData }) => retrieveOne(root, name, claimData))),
    deleteRun: (run) => rm(runFolder(root, run), { recursive: true, force: true }),
  };
}

async function storeOne(root: string, run: StoredRun, payload: Payload): Promise<StorageDriverClaim> {
  const bytes = payloadFile(payload);
  const sha256 = digest(bytes);
  const folder = runFolder(root, run);
  const file = path.join(folder, sha256);
  if (!(await exists(file))) {
    await mkdir(folder, { recursive: true });
    await writeWhole(file, bytes);
  }
  return new StorageDriverClaim({ namespace: run.namespace, run: run.runId, sha256 });
}

/** The path is built from the claim's parts, never taken from it: a claim cannot lead out of the store. */
async function retrieveOne(root: string, name: string, claim: Record<string, string>): Promise<Payload> {
  const { namespace, run, sha256 } = claim;
  if (namespace === undefined || run === undefined || !/^[0-9a-f]{64}$/.test(sha256 ?? '')) {
    throw new LonghaulError('spilled_unavailable', `Store "${name}" has not made this claim: ${JSON.stringify(claim)}`);
  }
  let bytes: Buffer;
  try {
    bytes = await readFile(path.join(runFolder(root, { namespace, runId: run }), sha256 ?? ''));
  } catch (error) {
    throw new LonghaulError(
      'spilled_unavailable',
      `Store "${name}" has no content ${sha256} of run "${run}": it was deleted, or kept elsewhere`,
      {
        cause: error,
      },
    );
  }
  if (digest(bytes) === sha256) return payloadOf(bytes);
  throw new LonghaulError('spilled_unavailable', `Content ${sha256} of run "${run}" in store "${name}" is damaged`);
}

function runOf({ target }: StorageDriverStoreContext): StoredRun {
  if (target?.id !== undefined) return { namespace: target.namespace, runId: target.id };
  throw new LonghaulError('internal', 'Nothing can be stored without the workflow or activity that it belongs to');
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch {
    return false;
  }
}
