import { type Payload, StorageDriverClaim, type StorageDriverStoreContext } from '@temporalio/common';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { LonghaulError, UsageError } from '../../core/domain/errors.ts';
import type { PayloadStore, StoredRun } from './payload-store.ts';
import { runFolder, writeWhole } from './run-folder.ts';

/** The options of a file store. */
export interface FileStoreOptions {
  /**
   * The folder of the store, created when needed. Every worker and client of a run must have access to the same
   * files.
   */
  directory: string;
  /** The name that is recorded with all stored content. Reading requires a store of the same name. Default `files`. */
  name?: string;
}

/**
 * Creates a payload store in the file system: one folder per run, and one file per content, named by its SHA-256. A
 * file appears completely or not at all. Throws a UsageError without a directory.
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

/**
 * Reads one payload. The path is built from parts of the claim and never taken from it, so a claim cannot lead out of
 * the store.
 */
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

/** The metadata in the file: the bytes of each value in base64. */
type Metadata = Record<string, string>;

/**
 * Returns a payload as a file: its metadata as JSON in the first line, then its unchanged data, so that any tool can
 * read content without a codec. Equal payloads give equal files.
 */
function payloadFile(payload: Payload): Uint8Array {
  const entries = Object.entries(payload.metadata ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const metadata: Metadata = Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  return Buffer.concat([Buffer.from(`${JSON.stringify(metadata)}\n`), payload.data ?? new Uint8Array()]);
}

/** Returns the payload in a file. Throws a SyntaxError for a file that `payloadFile` did not create. */
function payloadOf(file: Buffer): Payload {
  const end = file.indexOf('\n');
  const metadata = JSON.parse(file.subarray(0, Math.max(0, end)).toString()) as Metadata;
  return {
    metadata: Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, Buffer.from(value, 'base64')])),
    data: file.subarray(end + 1),
  };
}
