import type { LonghaulClientOptions } from '../../../client/client-options.ts';
import { LonghaulClient } from '../../../client/longhaul-client.ts';
import { type Forgotten, type MissingStore, unnamedStores, USER_STORES } from '../../../client/forget-options.ts';
import { type ForgetPreview, nameOfUser, previewForget } from '../../../client/forget.ts';
import { counted } from '../../../core/domain/text.ts';
import { UsageError } from '../../../core/domain/errors.ts';
import type { Principal } from '../../../core/domain/run.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { redisStreams } from '../../../streams/redis/redis-streams.ts';
import { memoryIn } from '../memory/memory-file.ts';
import { type StoreFlags, storesIn } from './stores.ts';
import { actingPrincipal, userKeyOf, withClient } from '../../with-client.ts';

/** The options of `longhaul forget`. */
export interface ForgetFlags extends ServerFlags, StoreFlags {
  /** The file of a memory. */
  memory?: string;
  /** The address of the Redis of the workers' sink. */
  streams?: string;
  /** The stores that no worker has, with commas between them. */
  without?: string;
  yes?: boolean;
}

/** The names of the stores on the command line: as options, and in `--without`. */
const STORE_NAMES: Record<MissingStore, string> = {
  payloadStore: 'payload-store',
  archive: 'archive',
  memory: 'memory',
  streams: 'streams',
};

/** The stores of the command, and what it says about others. */
interface NamedStores {
  stores: Pick<LonghaulClientOptions, MissingStore>;
  /** Stores that no worker has. */
  without: MissingStore[];
  /** Stores that the command says nothing about. */
  unnamed: MissingStore[];
}

/** Removes everything of a user; without `--yes`, says how many runs that are and which stores are named, and changes nothing. */
export async function forget(io: CommandIo, flags: ForgetFlags): Promise<number> {
  const { output, terminal } = io;
  const user = actingPrincipal(flags, terminal.env);
  if (user?.user === undefined) throw new UsageError('There is no user: write --user, and --tenant if the user has one');
  const named = namedStores(flags);
  const userKey = userKeyOf(terminal.env);
  if (flags.yes === true && named.unnamed.length > 0) throw new UsageError(`${unnamedText(named.unnamed)}. Nothing was removed`);
  return withClient(io, flags, async ({ client: { temporal } }) => {
    if (flags.yes !== true) {
      throw new UsageError(previewText(user, named, await previewForget(temporal, { user, userKey, stores: named.stores })));
    }
    const options = { ...named.stores, principal: user, ...(userKey === undefined ? {} : { userKey }) };
    const removing = new LonghaulClient(temporal, { ...options, onNotice: (line) => output.note(line) });
    let forgotten: Forgotten;
    try {
      forgotten = await removing.forget({ without: named.without, signal: terminal.signal });
    } finally {
      // Its connection to Redis would keep the command from ending.
      await removing.close();
    }
    if (output.json) output.printJson({ tenant: user.tenant ?? null, user: user.user, ...forgotten });
    else output.print(removedText(user, forgotten));
    if (forgotten.kept.length > 0) {
      const kept = forgotten.kept.map((runId) => `"${runId}"`).join(', ');
      output.note(`Spilled results and archives stay of ${kept}: the server has a run of another principal with the same id`);
    }
    return 0;
  });
}

function namedStores({ memory, streams, without: list = '', ...folders }: ForgetFlags): NamedStores {
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
  return { stores, without, unnamed: unnamedStores(stores, without) };
}

function previewText(user: Principal, { stores, without, unnamed }: NamedStores, { listed, archived, notice }: ForgetPreview): string {
  const named = USER_STORES.filter((store) => stores[store] !== undefined);
  return [
    `This removes everything of ${nameOfUser(user)}, with ${counted(listed, 'run')} that the server lists${archived === 0 ? '' : `, and ${archived} more in the archive`}`,
    `Stores that are named: ${listOf(named) || 'none'}`,
    ...(without.length === 0 ? [] : [`Stores that no worker has: ${listOf(without)}`]),
    ...(unnamed.length === 0 ? [] : [unnamedText(unnamed)]),
    ...(notice === undefined ? [] : [notice]),
    'It cannot be undone: write --yes to do it',
  ].join('\n');
}

function unnamedText(unnamed: readonly MissingStore[]): string {
  const options = unnamed.map((store) => `--${STORE_NAMES[store]}`).join(', ');
  const without = `--without ${unnamed.map((store) => STORE_NAMES[store]).join(',')}`;
  return `Stores that are not named: ${listOf(unnamed)}. Once the runs are removed, nothing leads to what is in there: name those of your workers with ${options}, or write "${without}" if they have none`;
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
