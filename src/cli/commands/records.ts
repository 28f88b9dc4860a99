import type { LonghaulClientOptions } from '../../client/client-options.ts';
import type { RunStores } from '../../client/delete-run.ts';
import { type Forgotten, type MissingStore, unnamedStores, USER_STORES } from '../../client/forget-options.ts';
import { type ForgetPreview, previewForget } from '../../client/forget.ts';
import { LonghaulClient } from '../../client/longhaul-client.ts';
import { nameOfUser } from '../../client/user-runs.ts';
import { defined } from '../../core/domain/json.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { Principal } from '../../core/domain/run.ts';
import { counted } from '../../core/domain/text.ts';
import type { SavedContext } from '../../core/saved/saved-context.ts';
import { fileArchive } from '../../stores/file-archive.ts';
import { fileStore, writeWhole } from '../../stores/payload-store.ts';
import { redisStreams } from '../../streams/redis/redis-streams.ts';
import { actingPrincipal, userKeyOf, withClient, withRun } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import type { Output } from '../output.ts';
import { foundAt, unwritable } from '../input-files.ts';
import { memoryIn } from './memory.ts';
import type { DeleteFlags, FORGET, SAVE } from '../run-commands.ts';

/** Writes the context of a run as a JSON document, which a run can be started from. */
export async function saveRun(io: CommandIo, flags: FlagsOf<typeof SAVE>): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => writeSaved(io, client.handle(runId), flags.output));
}

/** Writes the context of the run to a file, or to stdout. */
export async function writeSaved(
  { output }: CommandIo,
  run: { runId: string; save(): Promise<SavedContext> },
  file: string | undefined,
): Promise<number> {
  const saved = await run.save();
  const text = output.json ? JSON.stringify(saved) : JSON.stringify(saved, null, 2);
  if (file === undefined) output.print(text);
  else await writeFileWhole(file, `${text}\n`);
  output.note(`Run "${run.runId}": ${counted(saved.messages.length, 'message')}${file === undefined ? '' : ` in ${file}`}`);
  return 0;
}

async function writeFileWhole(file: string, text: string): Promise<void> {
  try {
    await writeWhole(file, [text]);
  } catch (error) {
    throw unwritable(file, error);
  }
}

/** Removes a run and its descendants, with their archives and spilled results. A run that does not exist is not an error. */
export async function deleteRun(io: CommandIo, { runId, ...flags }: DeleteFlags): Promise<number> {
  const stores = storesIn(flags);
  return withClient(io, flags, async ({ client }) => removeRun(io, client, { kind: 'run', id: runId, stores, flags }));
}

/** A run or a session to delete. */
interface Removal {
  kind: 'run' | 'session';
  id: string;
  stores: RunStores;
  flags: Omit<DeleteFlags, 'runId'>;
}

/** The commands that show ids. A prefix of an id deletes nothing: its run may be gone, and another run may have the same prefix. */
const LISTS = { run: 'list', session: 'sessions' } as const;

/** Deletes a run or a session, and says what was removed. */
export async function removeRun({ output }: CommandIo, client: LonghaulClient, { kind, id, stores, flags }: Removal): Promise<number> {
  const outcome = await client.handle(id).delete({ ...stores, end: flags.end === true });
  const without = storesLeft(flags);
  output.result(
    { [`${kind}Id`]: id, outcome, without },
    outcome === 'deleted'
      ? `${kind === 'run' ? 'Run' : 'Session'} "${id}" is deleted`
      : `The server has no ${kind} "${id}": there was nothing to delete. Write its whole id, as "${output.program} ${LISTS[kind]}" shows it`,
  );
  sayStoresLeft(output, without);
  return 0;
}

/** The names of the stores on the command line: as options, and in `--without`. */
const STORE_NAMES: Record<MissingStore, string> = {
  payloadStore: 'payload-store',
  archive: 'archive',
  memory: 'memory',
  streams: 'streams',
};

/** The stores of the command, and its note about other stores. */
interface NamedStores {
  stores: Pick<LonghaulClientOptions, MissingStore>;
  /** Stores that no worker has. */
  without: MissingStore[];
  /** Stores that the command says nothing about. */
  unnamed: MissingStore[];
}

/** Removes everything of a user. Without `--yes`, only prints the number of runs and the named stores. */
export async function forget(io: CommandIo, flags: FlagsOf<typeof FORGET>): Promise<number> {
  const { output, terminal } = io;
  const user = actingPrincipal(flags, terminal.env);
  if (user?.user === undefined) throw new UsageError('There is no user: write --user, and --tenant if the user has one');
  const named = namedStores(flags);
  const userKey = userKeyOf(terminal.env);
  if (flags.yes === true && named.unnamed.length > 0) throw new UsageError(`${unnamedText(named.unnamed)}. Nothing was removed`);
  return withClient(io, flags, async ({ client: { temporal } }) => {
    if (flags.yes !== true) {
      throw new UsageError(previewText(user, named, await previewForget(temporal, { user, userKey, stores: named.stores }), output));
    }
    const options = { ...named.stores, principal: user, ...defined({ userKey }) };
    const removing = new LonghaulClient(temporal, { ...options, onNotice: (line) => output.note(line) });
    let forgotten: Forgotten;
    try {
      forgotten = await removing.forget({ without: named.without, signal: terminal.signal });
    } finally {
      // Its connection to Redis would keep the command from ending.
      await removing.close();
    }
    output.result({ tenant: user.tenant ?? null, user: user.user, ...forgotten }, removedText(user, forgotten));
    if (forgotten.kept.length > 0) {
      const kept = forgotten.kept.map((runId) => `"${runId}"`).join(', ');
      output.note(`Spilled results and archives stay of ${kept}: the server has a run of another principal with the same id`);
    }
    output.note(notRemovedText(output));
    return 0;
  });
}

/** The options of a command that names the stores of a user. */
type NamedStoreFlags = StoreFlags & Partial<Pick<FlagsOf<typeof FORGET>, 'memory' | 'streams' | 'without'>>;

/** Opens the stores that the options name. `needed`: those that are either named or in `--without`. */
export function namedStores(
  { memory, streams, without: list = '', ...folders }: NamedStoreFlags,
  needed: readonly MissingStore[] = USER_STORES,
): NamedStores {
  const stores: NamedStores['stores'] = {
    ...storesIn(folders),
    ...(memory === undefined ? {} : { memory: memoryIn(memory) }),
    ...(streams === undefined ? {} : { streams: redisStreams({ url: streams }) }),
  };
  const names = list === '' ? [] : list.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !USER_STORES.some((store) => STORE_NAMES[store] === name));
  if (wrong !== undefined) throw new UsageError(`--without names "${wrong}": it takes ${listOf(USER_STORES)}, with commas between them`);
  const without = USER_STORES.filter((store) => names.includes(STORE_NAMES[store]));
  const both = without.find((store) => stores[store] !== undefined);
  if (both !== undefined) throw new UsageError(`--without and --${STORE_NAMES[both]} name the same store: leave one of them out`);
  return { stores, without, unnamed: unnamedStores(stores, without, needed) };
}

function notRemovedText({ program }: Pick<Output, 'program'>): string {
  return `Not removed: API keys that act for the user ("${program} keys list" shows them), backups, logs, traces, and data that tools have written elsewhere`;
}

function previewText(
  user: Principal,
  { stores, without, unnamed }: NamedStores,
  { listed, archived, notice }: ForgetPreview,
  output: Pick<Output, 'program'>,
): string {
  const named = USER_STORES.filter((store) => stores[store] !== undefined);
  return [
    `This removes everything of ${nameOfUser(user)}, with ${counted(listed, 'run')} that the server lists${archived === 0 ? '' : `, and ${archived} more in the archive`}`,
    `Stores that are named: ${listOf(named) || 'none'}`,
    ...(without.length === 0 ? [] : [`Stores that no worker has: ${listOf(without)}`]),
    ...(unnamed.length === 0 ? [] : [unnamedText(unnamed)]),
    ...(notice === undefined ? [] : [notice]),
    notRemovedText(output),
    'It cannot be undone: write --yes to do it',
  ].join('\n');
}

/** Names the stores that the command says nothing about, what becomes of that, and what to write. */
export function unnamedText(
  unnamed: readonly MissingStore[],
  otherwise = 'Once the runs are removed, nothing leads to their content',
): string {
  const options = unnamed.map((store) => `--${STORE_NAMES[store]}`).join(', ');
  const without = `--without ${unnamed.map((store) => STORE_NAMES[store]).join(',')}`;
  return `Stores that are not named: ${listOf(unnamed)}. ${otherwise}: name your workers' stores with ${options}, or write "${without}" if they have none`;
}

function removedText(user: Principal, { runs, executions, memoryEntries }: Forgotten): string {
  const entries = memoryEntries === 1 ? '1 entry' : `${memoryEntries} entries`;
  if (runs.length > 0) {
    return `Everything of ${nameOfUser(user)} is removed: ${counted(runs.length, 'run')} with ${counted(executions, 'execution')}, ${entries} of memory`;
  }
  return `No run of ${nameOfUser(user)} was found${memoryEntries === 0 ? ': nothing is removed' : `. Removed: ${entries} of memory`}`;
}

function listOf(stores: readonly MissingStore[]): string {
  return stores.map((store) => STORE_NAMES[store]).join(', ');
}

/** The options that name the stores of runs. */
type StoreFlags = Pick<DeleteFlags, 'archive' | 'payloadStore'>;

/** The kinds of stores that hold parts of a run, with the options that name them. */
const STORE_OPTIONS = { payloadStore: '--payload-store', archive: '--archive' } as const;
type RunStore = keyof typeof STORE_OPTIONS;

/** Opens the stores that the options name. Throws a UsageError for a missing folder, which would be created in place of the worker's. */
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
  const found = foundAt(path, `${option} names`);
  if (found === undefined) throw new UsageError(`${option} names "${path}", which does not exist: write the folder that your workers have`);
  if (!found.isDirectory())
    throw new UsageError(`${option} names "${path}", which is not a folder: write the folder that your workers have`);
}

/** Returns the kinds of stores of runs that the options do not name. */
export function storesLeft({ archive, payloadStore }: StoreFlags): RunStore[] {
  return [...(payloadStore === undefined ? ['payloadStore' as const] : []), ...(archive === undefined ? ['archive' as const] : [])];
}

/** Says that nothing was removed from the stores of these kinds, if there are some. */
export function sayStoresLeft(output: Output, stores: readonly RunStore[]): void {
  if (stores.length === 0) return;
  output.note(`Other stores are unchanged: name your workers' stores with ${stores.map((store) => STORE_OPTIONS[store]).join(', ')}`);
}
