import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../core/domain/errors.ts';
import type { RunRecord } from '../core/domain/record.ts';
import { type Identity, identityOf, isSameIdentity, type Principal } from '../core/domain/run.ts';
import { ifThere, linesOf, namespaceFolder, runFolder, type StoredRun, writeWhole } from './payload-store.ts';

/** The record of one execution of a run, which the run sends to the archive when the execution ends. */
export interface ArchiveBatch {
  /** The run from which the events come. */
  run: StoredRun;
  /** The identity on whose behalf the run acts. Absent for a run without a principal. */
  principal?: Pick<Principal, 'tenant' | 'user'>;
  /** Offset of the first event. */
  from: number;
  /** The offset after the last event. */
  through: number;
  /** All events of that range, and the steps between them, in order, as plain JSON in clear text. */
  records: readonly RunRecord[];
}

/**
 * An archive that a worker writes the records of runs to, so that they outlast the server's retention of histories.
 * Any store can implement it.
 */
export interface ArchiveSink {
  /**
   * Stores a batch durably before it resolves. Rejects if the batch could not be stored. It is called again after a
   * rejection or a timeout, while the earlier call may still be running; with a longer batch that begins with the
   * same event if the run was cancelled meanwhile; and with another such batch if the run was retried, or started
   * again under its id. Each replaces what was stored from that event on, so nothing is stored twice. The run waits
   * for it, up to the worker's `archiveTimeoutMs`, and then continues without a batch that could not be stored.
   */
  append(batch: ArchiveBatch): Promise<void>;
  /**
   * Reads everything that was stored for a run, in order, each event and each step once. Yields nothing for an
   * unknown run.
   */
  read(run: StoredRun): AsyncIterable<RunRecord>;
  /**
   * Returns the ids of the runs of a namespace that act for exactly this tenant and user, according to their batches: an absent one only
   * matches an absent one. So a user can be forgotten after the server has removed the runs.
   */
  runsOf(whom: ArchivedPrincipal): Promise<readonly string[]>;
  /** Deletes a run and its association with its principal. An unknown run is not an error. */
  deleteRun(run: StoredRun): Promise<void>;
}

/** The principal whose runs to look up, and their namespace. */
export type ArchivedPrincipal = Pick<StoredRun, 'namespace'> & Pick<Principal, 'tenant' | 'user'>;

/** The options of a file archive. */
export interface FileArchiveOptions {
  /** The folder of the archive, created when needed. Every worker writes to the same one. */
  directory: string;
}

/** The number of digits of the offset in a file name, so that the order of the names is the order of the events. */
const OFFSET_DIGITS = 12;
const FILE_NAME = /^\d+\.jsonl$/;

/** The file in a run's folder that names the run and its principal. */
const FILE = 'principal.json';

/**
 * Creates an archive in the file system: a folder for each run, and in it a file of JSON Lines for each execution,
 * named by the offset of its first event. All files of a run in name order form its record. A file
 * appears completely or not at all. Another file names the run's principal. Throws a UsageError without a directory.
 */
export function fileArchive(options: FileArchiveOptions): ArchiveSink {
  if (typeof options.directory !== 'string' || options.directory === '') {
    throw new UsageError('fileArchive: "directory" is missing: write the path of a folder that every worker sees');
  }
  const root = path.resolve(options.directory);
  return {
    append: (batch) => append(root, batch),
    read: (run) => read(runFolder(root, run)),
    runsOf: (whom) => runsOf(namespaceFolder(root, whom.namespace), whom),
    deleteRun: (run) => removeFolder(runFolder(root, run)),
  };
}

async function append(root: string, { run, principal, from, records }: ArchiveBatch): Promise<void> {
  const folder = runFolder(root, run);
  await mkdir(folder, { recursive: true });
  // Before the records: a crash in between must not leave records without a principal.
  await noteOwner(folder, { ...principal, runId: run.runId });
  const name = `${String(from).padStart(OFFSET_DIGITS, '0')}.jsonl`;
  const file = path.join(folder, name);
  const lines = records.map((record) => `${JSON.stringify(record)}\n`);
  const later = (await batchesIn(folder)).filter((one) => one > name);
  // A call that is late, after the next execution has stored its batch, brings nothing new.
  if (later.length > 0 && (await beginsWith(file, lines.join('')))) return;
  // The batch is of another course of the run. If this is interrupted, the call is repeated.
  for (const one of later) await rm(path.join(folder, one), { force: true });
  await writeWhole(file, lines);
}

async function beginsWith(file: string, text: string): Promise<boolean> {
  return (await ifThere(readFile(file, 'utf8')))?.startsWith(text) === true;
}

/** Removes a run's folder, the file with its principal last: whoever repeats an interrupted removal finds the run by it. */
async function removeFolder(folder: string): Promise<void> {
  await removeRecords(folder);
  await rm(folder, { recursive: true, force: true });
}

/** Removes everything in a run's folder except the name of its principal. */
async function removeRecords(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) if (name !== FILE) await rm(path.join(folder, name), { recursive: true, force: true });
}

async function runsOf(folder: string, whom: ArchivedPrincipal): Promise<string[]> {
  const runs: string[] = [];
  for (const name of await namesIn(folder)) {
    const owner = await ownerOf(path.join(folder, name));
    if (owner !== undefined && isSameIdentity(owner, whom)) runs.push(owner.runId);
  }
  return runs;
}

/** Reads the files of a run, each up to the first event of the next one: a longer batch may have been stored before. */
async function* read(folder: string): AsyncGenerator<RunRecord> {
  const names = await batchesIn(folder);
  let index = 0;
  for (const [place, name] of names.entries()) {
    const end = Number.parseInt(names[place + 1] ?? '', 10) || Infinity;
    for await (const line of linesOf(path.join(folder, name))) {
      const record = JSON.parse(line) as RunRecord;
      if (record.type === 'event' && record.offset >= end) break;
      if (record.type === 'step' && record.index < index) continue;
      if (record.type === 'step') index = record.index + 1;
      yield record;
    }
  }
}

/** Returns the names of a run's batches, in the order of their events. */
async function batchesIn(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((one) => FILE_NAME.test(one));
}

/** Returns the sorted names in a folder; empty if there is no folder. */
async function namesIn(folder: string): Promise<string[]> {
  return (await ifThere(readdir(folder)))?.toSorted() ?? [];
}

/** The run id and principal of a folder, from a file in it: the name of a folder is not the id. */
type RunOwner = Pick<StoredRun, 'runId'> & Identity;

/**
 * Writes the principal of a folder's run. Records of another principal, whose run had the same id before, are removed: the record of one
 * user must not become part of another user's.
 */
async function noteOwner(folder: string, { runId, tenant, user }: RunOwner): Promise<void> {
  const owner: RunOwner = { runId, ...identityOf({ tenant, user }) };
  const noted = await ownerOf(folder);
  if (noted !== undefined && isSameIdentity(noted, owner)) return;
  // The old name is replaced last: if this is interrupted, what is left is still the earlier principal's, and removed the next time.
  if (noted !== undefined) await removeRecords(folder);
  await writeWhole(path.join(folder, FILE), [JSON.stringify(owner)]);
}

/** Returns the run and principal of a folder; undefined if the folder does not say. */
async function ownerOf(folder: string): Promise<RunOwner | undefined> {
  const text = await ifThere(readFile(path.join(folder, FILE), 'utf8'));
  return text === undefined ? undefined : (JSON.parse(text) as RunOwner);
}
