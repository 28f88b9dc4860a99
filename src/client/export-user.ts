import type { Client } from '@temporalio/client';
import type { SpilledContent } from '../core/domain/content.ts';
import { type ErrorCode, errorCode, errorMessage, LonghaulError } from '../core/domain/errors.ts';
import { defined, type JsonValue } from '../core/domain/json.ts';
import type { Identity } from '../core/domain/run.ts';
import { isoTime } from '../core/domain/time.ts';
import { RESULT_MEMO } from '../core/protocol.ts';
import { executionBeginning } from '../history/execution-reader.ts';
import type { ReadExecution } from '../history/read-run.ts';
import { memoryOwner, type MemoryEntry, type MemoryStore, partOfNamespace } from '../memory/memory-store.ts';
import { readSpilled } from '../stores/payload-store.ts';
import { inStore, readFromStore } from '../stores/store-failures.ts';
import { explainedError } from '../temporal/server-calls.ts';
import { executionsOf } from './delete-run.ts';
import { RunChain } from './executions.ts';
import { type ExportedRun, exportExecutions, type ExportLine } from './export-run.ts';
import type { ExportUserOptions, UserRun } from './export-user-options.ts';
import { EXPORT_CALL, type MissingStore, missingStores, type UserStores } from './forget-options.ts';
import { readSpilledContent } from './saved-context.ts';
import { archivedRuns, ExecutionOwners, nameOfUser, nothingFound, runsOfUser } from './user-runs.ts';

/** The user to export, and the places that hold its data. */
interface ExportWork {
  user: Identity;
  userKey: string | undefined;
  stores: Pick<UserStores, 'payloadStore' | 'archive' | 'memory'>;
  /** Receives the notice that no run was found, with likely reasons. */
  onNotice: (line: string) => void;
}

/** Yields everything of a user, line by line: what `forget` would remove. Throws a UsageError if a store is neither given nor declared missing. */
export async function* exportUser(
  client: Client,
  work: ExportWork,
  { without: named, isExported = () => false, signal }: ExportUserOptions,
): AsyncGenerator<UserExportLine> {
  const without = missingStores(work.stores, named, EXPORT_CALL);
  const { namespace } = client.options;
  yield { type: 'user', version: 1, ...work.user, namespace, exportedAt: isoTime(Date.now()) };
  const found = new UserExport(client, work);
  const runs = new Set<string>();
  let [unread, memoryEntries] = [0, 0];
  // A run that has just begun may be missing in the first list, and others begin meanwhile.
  for (let left = await found.runIds(); left.length > 0; left = (await found.runIds()).filter((runId) => !runs.has(runId))) {
    for (const runId of left) {
      runs.add(runId);
      for (const run of await found.runsOf(runId)) {
        signal?.throwIfAborted();
        if (await isExported(run)) continue;
        for await (const line of found.linesOf(run)) {
          if (line.type === 'unread') unread += 1;
          yield line;
        }
      }
    }
  }
  for await (const line of found.memory()) {
    if (line.type === 'unread') unread += 1;
    else memoryEntries += 1;
    yield line;
  }
  if (runs.size === 0) work.onNotice(await nothingFound(client, work));
  yield { type: 'end', version: 1, runs: [...runs].toSorted(), memoryEntries, unread, without };
}

class UserExport {
  readonly #client: Client;
  readonly #work: ExportWork;
  readonly #owners: ExecutionOwners;
  /** The runs of the user that the archive has. */
  #archived: ReadonlySet<string> = new Set();

  constructor(client: Client, work: ExportWork) {
    this.#client = client;
    this.#work = work;
    this.#owners = new ExecutionOwners(client, work.user);
  }

  /** Lists the runs of the user that the server or the archive has, ancestors before descendants. */
  async runIds(): Promise<string[]> {
    const { user, userKey, stores } = this.#work;
    const listed = await runsOfUser(this.#client, { user, userKey, owners: this.#owners });
    this.#archived = new Set(await archivedRuns(this.#client, user, stores));
    return [...new Set([...listed, ...this.#archived])].toSorted();
  }

  /** Returns the chains of the user's executions under an id, the newest last. */
  async runsOf(runId: string): Promise<UserRun[]> {
    const executions = (await executionsOf(this.#client, runId)).map((executionId) => ({ runId, executionId }));
    const own = (await this.#owners.only('user', executions)).map(({ executionId }) => executionId);
    const continued = new Set<string>();
    for (const executionId of own) {
      const { before } = (await executionBeginning(this.#client, runId, executionId)) ?? {};
      if (before !== undefined) continued.add(before);
    }
    const last = own.filter((executionId) => !continued.has(executionId));
    if (last.length === 0) return [{ runId, isNewest: true }];
    return last.map((lastExecutionId, index) => ({ runId, lastExecutionId, isNewest: index === last.length - 1 }));
  }

  /** Yields a run, and what could not be read of it. Rejects with errors that concern all runs. */
  async *linesOf(run: UserRun): AsyncGenerator<RunLine> {
    try {
      yield* this.#readRun(run);
    } catch (error) {
      yield this.#unread({ part: 'run', runId: run.runId }, error);
    }
  }

  async *#readRun({ runId, lastExecutionId, isNewest }: UserRun): AsyncGenerator<RunLine> {
    const executions = new RunChain(this.#client, runId);
    const chain = { executions: async () => (lastExecutionId === undefined ? [] : executions.endingWith(lastExecutionId)) };
    const content = new Claims();
    const details: RunDetails = { type: 'details' };
    const seen = (read: ReadExecution): void => {
      const { input, program } = read.recorded;
      const start = input ?? program;
      if (start !== undefined) details.input = start;
      const { state } = read.run;
      if (state !== undefined) Object.assign(details, { deps: state.deps, state: state.context.state });
      // Answers of activities refer to content that no event shows, such as the saved names of code.
      content.find(read.recorded);
    };
    const archive = isNewest && (await this.#isInArchive(runId)) ? this.#work.stores.archive : undefined;
    for await (const line of exportExecutions(this.#client, { runId, chain, archive, seen })) {
      if (line.type === 'run') yield { ...line, ...defined({ lastExecutionId }), isNewest };
      else if (line.type === 'summary') {
        if (lastExecutionId !== undefined) yield* this.#details(details, runId, lastExecutionId);
        content.find(details);
        for (const spilled of content.next()) yield await this.#spilled(runId, spilled);
        yield line;
      } else {
        yield line;
        content.find(line);
        for (const spilled of content.next()) yield await this.#spilled(runId, spilled);
      }
    }
  }

  /** True if what the archive has under the id is the user's. */
  async #isInArchive(runId: string): Promise<boolean> {
    return this.#archived.has(runId) || !(await this.#owners.hasOthers(runId));
  }

  /** Yields what a run was started with, and what it keeps. */
  async *#details(details: RunDetails, runId: string, executionId: string): AsyncGenerator<RunDetails | UnreadPart> {
    let failure: UnreadPart | undefined;
    try {
      const { memo = {}, typedSearchAttributes } = await this.#client.workflow.getHandle(runId, executionId).describe();
      const { [RESULT_MEMO]: _, ...rest } = memo;
      details.memo = rest;
      details.searchAttributes = Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
    } catch (error) {
      // Any client of the namespace can write a memo that cannot be decoded.
      const coded = errorCode(error) === undefined ? new LonghaulError('history_unreadable', errorMessage(error), { cause: error }) : error;
      failure = this.#unread({ part: 'memo', runId }, coded);
    }
    yield details;
    if (failure !== undefined) yield failure;
  }

  async #spilled(runId: string, spilled: SpilledContent): Promise<ExportedSpill | UnreadPart> {
    const { payloadStore } = this.#work.stores;
    try {
      if (payloadStore === undefined)
        throw new LonghaulError(
          'spilled_unavailable',
          `The content is in store "${spilled.store}", which "without" says that no worker has`,
        );
      const { loadedDataConverter } = this.#client.options;
      const content = await inStore('payloadStore', 'The spilled content was not read', () =>
        readSpilled(payloadStore, loadedDataConverter, spilled),
      );
      return { type: 'spilled', runId, spilled, content };
    } catch (error) {
      return this.#unread({ part: 'spilled', runId }, error);
    }
  }

  /** Yields the entries of the user in the memory, of all agents and programs. */
  async *memory(): AsyncGenerator<ExportedEntry | UnreadPart> {
    const { user, stores } = this.#work;
    if (stores.memory === undefined) return;
    try {
      yield* readFromStore('memory', `The memory of ${nameOfUser(user)} was not read`, entriesOf(user, stores.memory));
    } catch (error) {
      yield this.#unread({ part: 'memory' }, error);
    }
  }

  /** Returns the line for a part that could not be read. Throws errors that concern all parts. */
  #unread(what: Pick<UnreadPart, 'part' | 'runId'>, given: unknown): UnreadPart {
    const error = explainedError(this.#client, given);
    const code = errorCode(error);
    // An error without a code is a defect, or the client was closed.
    if (code === undefined || code === 'namespace_not_found' || code === 'server_unreachable') throw error;
    return { type: 'unread', ...what, code, message: errorMessage(error) };
  }
}

async function* entriesOf(user: Identity, memory: MemoryStore): AsyncGenerator<ExportedEntry> {
  for (const namespace of await memory.listNamespaces({ prefix: memoryOwner(user) })) {
    let cursor: string | undefined;
    do {
      const { entries, next } = await memory.list({ namespace, ...defined({ cursor }) });
      for (const entry of entries) yield { type: 'memory', namespace, ...partOfNamespace(namespace), entry };
      cursor = next;
    } while (cursor !== undefined);
  }
}

/** Finds references to spilled content, each once. */
class Claims {
  readonly #known = new Set<string>();
  #found: SpilledContent[] = [];

  /** Looks for references anywhere in a value. */
  find(value: unknown): void {
    const left: unknown[] = [value];
    const visited = new Set<object>();
    while (left.length > 0) {
      const one = left.pop();
      if (typeof one !== 'object' || one === null || visited.has(one)) continue;
      visited.add(one);
      const spilled = readSpilledContent(one);
      if (spilled !== undefined) this.#add(spilled);
      else for (const inner of one instanceof Map || one instanceof Set ? one.values() : Object.values(one)) left.push(inner);
    }
  }

  #add(spilled: SpilledContent): void {
    const key = JSON.stringify(spilled.claim);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#found.push(spilled);
  }

  /** Returns the references that were found since the last call. */
  next(): SpilledContent[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }
}

/** The first line of a user's export. */
export interface ExportedUser {
  /** Distinguishes the lines of an export: this is the first. */
  type: 'user';
  /** The version of the form of exports: 1. */
  version: 1;
  /** The tenant of the user. */
  tenant?: string;
  /** The user whose data follows. */
  user?: string;
  /** The Temporal namespace of the runs. */
  namespace: string;
  /** ISO 8601. */
  exportedAt: string;
}

/** What a run was started with, and what it keeps besides its record. */
export interface RunDetails {
  /** Distinguishes the lines of an export: it comes before the summary of a run. */
  type: 'details';
  /** The input of the start, with its deps and its principal. Absent if the server has removed the first execution. */
  input?: unknown;
  /** The deps of the run as they are now. */
  deps?: unknown;
  /** The state of the run as it is now. */
  state?: unknown;
  /** The memo, with the title of a session. */
  memo?: Record<string, unknown>;
  /** What lists find the run by. */
  searchAttributes?: Record<string, unknown>;
}

/** A large result that was moved to the payload store. */
export interface ExportedSpill {
  /** Distinguishes the lines of an export: spilled content, after the line that refers to it. */
  type: 'spilled';
  /** The run that it belongs to. */
  runId: string;
  /** The reference in the record. */
  spilled: SpilledContent;
  /** The whole content. */
  content: JsonValue[];
}

/** An entry of the memory. */
export interface ExportedEntry {
  /** Distinguishes the lines of an export: an entry of the memory, after all runs. */
  type: 'memory';
  /** The namespace of the entry. */
  namespace: string;
  /** The agent whose memory it is, or the name that several agents share. */
  agent?: string;
  /** The scope of programs whose memory it is. */
  scope?: string;
  /** The entry. */
  entry: MemoryEntry;
}

/** A part that could not be read, and is missing. */
export interface UnreadPart {
  /** Distinguishes the lines of an export: something is missing here. */
  type: 'unread';
  /** What is missing: a run from here on, the memo of a run, spilled content, or the entries of the memory from here on. */
  part: 'run' | 'memo' | 'spilled' | 'memory';
  /** The run that it belongs to. Absent for the memory. */
  runId?: string;
  /** Why: a code of the page of errors. */
  code: ErrorCode;
  /** The reason in words. */
  message: string;
}

/** The last line of a user's export. */
export interface UserExportEnd {
  /** Distinguishes the lines of an export: this is the last, so an export without it is truncated. */
  type: 'end';
  /** The version of the form of exports: 1. */
  version: 1;
  /** The ids of the runs, sessions and programs, with their descendants, including those that `isExported` has skipped. */
  runs: string[];
  /** The number of entries of the memory in this export. */
  memoryEntries: number;
  /** The number of `unread` lines. */
  unread: number;
  /** The stores that no worker has, as the caller said. */
  without: MissingStore[];
}

type RunLine =
  | Exclude<ExportLine, ExportedRun>
  /** The first line of a run, with its newest execution. */
  | (ExportedRun & Pick<UserRun, 'lastExecutionId' | 'isNewest'>)
  | RunDetails
  | ExportedSpill
  | UnreadPart;

/** One line of a user's export: first the user, then each run from its line `run` to its line `summary`, then the memory, then the end. */
export type UserExportLine = ExportedUser | RunLine | ExportedEntry | UserExportEnd;
