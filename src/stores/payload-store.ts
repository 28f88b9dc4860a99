import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  type LoadedDataConverter,
  type Payload,
  type StorageDriver,
  StorageDriverClaim,
  type StorageDriverStoreContext,
} from '@temporalio/common';
import type { SpilledContent } from '../core/domain/content.ts';
import { LonghaulError, memberOf, UsageError } from '../core/domain/errors.ts';
import { isJsonObject, type JsonValue, readOrMark, whyUnreadable } from '../core/domain/json.ts';

/** A run that stored data belongs to: all executions of one workflow id. */
export interface StoredRun {
  /** The Temporal namespace. */
  namespace: string;
  /** The run to which the value belongs. */
  runId: string;
}

/**
 * A store for content that is too large for a run's history. It is a storage driver of the Temporal SDK that can also
 * delete a run. Any store can implement it, and one store can also serve the SDK's own `ExternalStorage`.
 *
 * `store` is called with a workflow as `context.target` and keeps payloads for that run; `retrieve` rejects if it finds
 * nothing for a claim. Both receive payloads as the codecs encoded them. Content that is stored twice for one run may be
 * kept once.
 */
export interface PayloadStore extends StorageDriver {
  /** Deletes all content of a run. A run without content is not an error. */
  deleteRun(run: StoredRun): Promise<void>;
}

/**
 * The converter between values and payloads. It has the same codecs as the rest of the run, so that nothing is stored
 * in clear text that is encrypted in history.
 */
export type SpillConverter = Pick<LoadedDataConverter, 'payloadConverter' | 'payloadCodecs'>;

/** Stores content of a run in a payload store. Rejects with the errors of the store. */
export async function spill(store: PayloadStore, converter: SpillConverter, run: StoredRun, content: JsonValue[]): Promise<SpilledContent> {
  let payloads: Payload[] = [converter.payloadConverter.toPayload(content)];
  for (const codec of converter.payloadCodecs) payloads = await codec.encode(payloads);
  const target = { kind: 'workflow', namespace: run.namespace, id: run.runId } as const;
  const [claim] = await store.store({ target }, payloads);
  if (claim === undefined) throw new LonghaulError('internal', `Payload store "${store.name}" returned no claim`);
  const claimed: unknown = { ...claim.claimData };
  if (!isClaim(claimed))
    throw new LonghaulError('internal', `Payload store "${store.name}" returned a claim that is not an object of texts`);
  const json = JSON.stringify(content);
  return { store: store.name, claim: claimed, bytes: Buffer.byteLength(json), sha256: sha256Of(json) };
}

/**
 * Reads content from a payload store. Throws `spilled_unavailable` if the store does not have it, or has other
 * content.
 */
export async function readSpilled(store: PayloadStore, converter: SpillConverter, spilled: SpilledContent): Promise<JsonValue[]> {
  if (store.name !== spilled.store) {
    throw new LonghaulError(
      'spilled_unavailable',
      `The content is in store "${spilled.store}", not in "${store.name}": read it with that store`,
    );
  }
  let payloads = await store.retrieve({}, [new StorageDriverClaim(spilled.claim)]);
  for (const codec of converter.payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
  const [payload] = payloads;
  // The codecs of a worker mark what they cannot decode, instead of failing.
  const content = payload === undefined ? [] : (readOrMark(payload, () => converter.payloadConverter.fromPayload(payload)) as JsonValue[]);
  const why = whyUnreadable(content);
  if (why !== undefined) throw new LonghaulError('spilled_unavailable', `Store "${store.name}" has content that cannot be read: ${why}`);
  if (sha256Of(JSON.stringify(content)) === spilled.sha256) return content;
  throw new LonghaulError(
    'spilled_unavailable',
    `Store "${store.name}" gave other content than was stored: its SHA-256 is not ${spilled.sha256}`,
  );
}

/** True for a valid claim. A store may be written in JavaScript, and its claims are recorded in history. */
function isClaim(value: unknown): value is Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((one) => typeof one === 'string');
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The options of a file store. */
export interface FileStoreOptions {
  /**
   * The folder of the store, created when needed. Every worker and client of a run must have access to the same
   * files.
   */
  directory: string;
  /** The name that is recorded with all stored content. Reading requires a store with the same name. Default `files`. */
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
  const sha256 = sha256OfBytes(bytes);
  const folder = runFolder(root, run);
  const file = path.join(folder, sha256);
  if ((await ifThere(stat(file))) === undefined) {
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
  if (sha256OfBytes(bytes) === sha256) return payloadOf(bytes);
  throw new LonghaulError('spilled_unavailable', `Content ${sha256} of run "${run}" in store "${name}" is damaged`);
}

function runOf({ target }: StorageDriverStoreContext): StoredRun {
  if (target?.id !== undefined) return { namespace: target.namespace, runId: target.id };
  throw new LonghaulError('internal', 'Nothing can be stored without the workflow or activity that it belongs to');
}

function sha256OfBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
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

/** The end of the name of a file that is being written. */
const DRAFT = '.draft';

/** Returns the folder of a run below `root`: one folder for each namespace, and in it one for each run. */
export function runFolder(root: string, { namespace, runId }: StoredRun): string {
  return path.join(namespaceFolder(root, namespace), folderName(runId));
}

/** Returns the folder of a namespace below `root`. */
export function namespaceFolder(root: string, namespace: string): string {
  return path.join(root, folderName(namespace));
}

/**
 * Returns a folder name for an id, which may be longer than a file name and hold any character: its readable part,
 * and a digest that distinguishes ids.
 */
export function folderName(id: string): string {
  const readable = id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60);
  return `${readable}.${createHash('sha256').update(id).digest('hex').slice(0, 16)}`;
}

/**
 * Writes a file so that a reader finds it either not at all or complete, even if the machine stops during the write. `mode` has the
 * rights of the file.
 */
export async function writeWhole(file: string, content: Uint8Array | Iterable<string>, { mode }: { mode?: number } = {}): Promise<void> {
  const draft = `${file}.${randomUUID()}${DRAFT}`;
  try {
    const handle = await open(draft, 'wx', mode);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    // A full disk leaves part of the content. The first error is the one to report.
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Yields the lines of a file of JSON Lines. Node's own reader also ends a line at U+2028 and U+2029, which JSON has in texts. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  let parts: string[] = [];
  for await (const chunk of createReadStream(file, { encoding: 'utf8' })) {
    const [end = '', ...lines] = String(chunk).split('\n');
    parts.push(end);
    for (const begun of lines) {
      yield parts.join('');
      parts = [begun];
    }
  }
  const last = parts.join('');
  if (last !== '') yield last;
}

/** Returns the result of reading a file or a folder; undefined if it does not exist. */
export async function ifThere<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String(memberOf(error, 'code')))) return undefined;
    throw error;
  }
}

/** Removes the drafts that writers of a file left when they were killed. No writer may be at work. */
export async function removeDrafts(file: string): Promise<void> {
  const folder = path.dirname(file);
  for (const name of await readdir(folder)) {
    if (name.startsWith(`${path.basename(file)}.`) && name.endsWith(DRAFT)) await rm(path.join(folder, name), { force: true });
  }
}
