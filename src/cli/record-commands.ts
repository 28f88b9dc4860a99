import { isScope, type Scope, SCOPES } from '../server/auth/caller.ts';
import { InvalidArgumentError } from 'commander';
import { argument, defineCommand, flag, type FlagsOf, option } from './define-command.ts';
import { COMMON, duration, repeatable, wholeNumber } from './options.ts';

export const EXPORT = defineCommand({
  name: 'export',
  summary: 'write a whole run as JSON Lines',
  description:
    'Writes all records of a run, across all its executions, as JSON Lines; the last line lists what is missing.\n' +
    'Works while the run continues and after it has ended, with and without a worker.',
  args: { runId: COMMON.run },
  options: { output: COMMON.output, archive: option('<folder>', 'the folder of a file archive, for what the server has removed') },
});
export type ExportFlags = FlagsOf<typeof EXPORT>;

export const SAVE = defineCommand({
  name: 'save',
  summary: 'write the conversation of a run as a document',
  description:
    'Writes the context of a run as one JSON document: the conversation that the model sees, deps and counters. "start --load"\n' +
    'begins a run from it. Works while the run continues and after it has ended, with and without a worker.',
  args: { runId: COMMON.run },
  options: { output: COMMON.output },
});
export type SaveFlags = FlagsOf<typeof SAVE>;

export const DELETE = defineCommand({
  name: 'delete',
  summary: 'delete a run and its descendants',
  description: 'Removes all executions of a run and of its descendants from the server, and their data from the folders that you name.',
  args: { runId: COMMON.run },
  options: {
    end: flag('cancel the run and its descendants first if they are open; otherwise they are refused'),
    archive: option('<folder>', 'the folder of a file archive, to remove the run from it as well'),
    payloadStore: option('<folder>', 'the folder of a file store, to remove the spilled results of the run as well'),
  },
});
export type DeleteFlags = FlagsOf<typeof DELETE>;

export const FORGET = defineCommand({
  name: 'forget',
  summary: 'remove everything of the user that --user and --tenant name',
  description:
    'Ends the runs and sessions of a user, and removes them with their descendants: from the server, from the folders that you name,\n' +
    'and the entries of the user from the memory. May be repeated, and finishes what an interrupted call has left.\n' +
    'Name all stores of your workers: once the runs are removed, nothing leads to what is in there.',
  options: {
    archive: option('<folder>', 'the folder of a file archive'),
    payloadStore: option('<folder>', 'the folder of a file store'),
    memory: option('<file>', 'the file of a SQLite memory, or of a file memory (.json)'),
    streams: option('<url>', 'the address of the Redis that carries live output, redis://…'),
    without: option('<stores>', 'the stores that no worker has: archive, payload-store, memory, streams, separated by commas'),
    yes: flag('remove; otherwise the runs are counted, and nothing is changed', { manual: 'Exit code 2 without it' }),
  },
});
export type ForgetFlags = FlagsOf<typeof FORGET>;

export const REPLAY = defineCommand({
  name: 'replay',
  summary: 'replay recorded runs with your current code',
  description:
    'Replays the histories of runs with your current workflow code, and reports the first difference of each run\n' +
    'that would get stuck with it. Nothing is executed or changed: no worker, no agents and no model are needed.',
  args: { paths: argument('[histories...]', 'files and folders of histories (*.json); without them, runs of the server') },
  options: {
    workflows: option('<module>', 'the module of your own workflows, if your worker has one', { short: 'w' }),
    agent: option('<name>', 'only runs of this agent'),
    type: option('<workflow>', 'workflows of this type, instead of runs of agents'),
    query: COMMON.query,
    limit: option('<number>', 'at most this many runs, the newest first', { read: wholeNumber(1), default: 20 }),
    save: option('<folder>', 'keep the histories as files, with payloads as the server has them, to replay them without a server'),
  },
});
export type ReplayFlags = FlagsOf<typeof REPLAY>;

/** The options that name a part of a memory. The tenant and the user are those of the command. */
const MEMORY_OPTIONS = {
  memory: option('<file>', 'the file of a SQLite memory, or of a file memory (.json)', { required: true }),
  agent: option('<name>', 'the name of the memory: that of the agent, unless the agent has another'),
  scope: option('<name>', 'the scope of steps of programs, instead of an agent'),
} as const;

export const LIST_MEMORY = defineCommand({
  name: 'memory list',
  summary: 'list entries',
  description: 'Lists the entries of a memory by their keys. Without --user and --tenant: the entries of runs without a principal.',
  options: MEMORY_OPTIONS,
});
export type MemoryFlags = FlagsOf<typeof LIST_MEMORY>;

export const FORGET_MEMORY = defineCommand({
  name: 'memory forget',
  summary: 'forget entries',
  description: 'Removes one entry, those of an agent or a scope, or, without either, all of the user. "longhaul forget" also removes runs.',
  options: { ...MEMORY_OPTIONS, key: option('<key>', 'only the entry with this key') },
});
export type ForgetMemoryFlags = FlagsOf<typeof FORGET_MEMORY>;

const file = option('<file>', 'the file with the keys; else LONGHAUL_KEYS_FILE, ./longhaul-keys.json');

export const CREATE_KEY = defineCommand({
  name: 'keys create',
  summary: 'create an API key',
  description:
    'Creates an API key and prints it, once. It acts for --tenant and --user; without them, it reaches all runs, and the command says so.',
  options: {
    file,
    name: option('<name>', 'the purpose of the key, for people', { required: true }),
    scope: option('<scope>', `a right of the key, may be repeated: ${SCOPES.join(', ')}`, { required: true, read: readScope }),
    agent: option('<name>', 'an agent or program that the key may start, may be repeated (default: all)', { read: repeatable }),
    expires: option('<time>', 'the time after which it expires, such as 12h or 30d (default: never)', { read: duration }),
  },
});
export type CreateKeyFlags = FlagsOf<typeof CREATE_KEY>;

function readScope(text: string, before: readonly Scope[] = []): Scope[] {
  if (isScope(text)) return [...before, text];
  throw new InvalidArgumentError(`Allowed choices are ${SCOPES.join(', ')}.`);
}

export const LIST_KEYS = defineCommand({
  name: 'keys list',
  summary: 'list API keys',
  description: 'Lists the API keys with their rights, in the order of their creation.',
  options: { file },
});
export type KeysFlags = FlagsOf<typeof LIST_KEYS>;

export const REVOKE_KEY = defineCommand({
  name: 'keys revoke',
  summary: 'revoke an API key',
  description: 'Revokes an API key: servers that read the file refuse it from their next request on.',
  args: { keyId: argument('<key>', 'the id of the key, as "longhaul keys list" shows it') },
  options: { file },
});
export type RevokeKeyFlags = FlagsOf<typeof REVOKE_KEY>;
