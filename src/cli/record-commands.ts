import { isScope, type Scope, SCOPES } from '../server/auth/caller.ts';
import { InvalidArgumentError } from 'commander';
import { argument, defineCommand, flag, type FlagsOf, option } from './define-command.ts';
import { COMMON, duration, repeatable, wholeNumber } from './options.ts';

export const EXPORT = defineCommand({
  name: 'export',
  summary: 'write a whole run as JSON Lines',
  description:
    'Writes the whole record of a run, across all its executions, as JSON Lines; the last line lists what is missing. Works during the ' +
    'run and after it, with and without a worker.',
  args: { runId: COMMON.run },
  options: {
    output: COMMON.output,
    archive: option('<folder>', 'the folder of a file archive, for the events that the server has removed'),
  },
});
export type ExportFlags = FlagsOf<typeof EXPORT>;

export const SAVE = defineCommand({
  name: 'save',
  summary: 'write the conversation of a run as a document',
  description:
    'Writes the context of a run as one JSON document: the conversation that the model sees, deps and counters. "start --load" begins a ' +
    'run from it. Works during the run and after it, with and without a worker.',
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
    end: flag('cancel the run and its descendants first, if they are open; without it, open ones are not removed'),
    archive: option('<folder>', 'the folder of a file archive, from which the run is removed as well'),
    payloadStore: option('<folder>', 'the folder of a file store, from which the spilled results of the run are removed as well'),
  },
});
export type DeleteFlags = FlagsOf<typeof DELETE>;

export const FORGET = defineCommand({
  name: 'forget',
  summary: 'remove everything of the user that --user and --tenant name',
  description:
    'Ends the runs and sessions of a user, and removes them and their descendants from the server and from the stores that you name, ' +
    'and the entries of the user from the memory. May be repeated, and finishes what an interrupted call has left. Name all stores of ' +
    'your workers: once the runs are removed, nothing leads to what is in a store.',
  options: {
    archive: option('<folder>', 'the folder of a file archive'),
    payloadStore: option('<folder>', 'the folder of a file store'),
    memory: option('<file>', 'the file of a SQLite memory, or of a file memory (.json)'),
    streams: option('<url>', 'the address of the Redis that carries live output, such as redis://127.0.0.1:6379'),
    without: option('<stores>', 'the stores that no worker has, separated by commas: archive, payload-store, memory, streams'),
    yes: flag(
      'remove; without it, the runs are counted, the stores that are named and those that are not are listed, and nothing is changed',
      { manual: 'Exit code 2 without it' },
    ),
  },
});
export type ForgetFlags = FlagsOf<typeof FORGET>;

export const REPLAY = defineCommand({
  name: 'replay',
  summary: 'replay recorded runs with your current code',
  description:
    'Replays the histories of runs with your current workflow code, and reports the first difference of each run that would get stuck ' +
    'with it. Nothing is executed or changed: no worker, no agents and no model are needed.',
  args: {
    paths: argument(
      '[histories...]',
      'files of histories (*.json), and folders of them; no server is needed (default: runs of the server)',
      {
        manual: '`--save` and `temporal workflow show --output json` write such files',
      },
    ),
  },
  options: {
    workflows: option('<module>', 'the module of your own workflows, if your worker has one', { short: 'w' }),
    agent: option('<name>', 'only runs of this agent'),
    type: option('<workflow>', 'your own workflows of this type, instead of runs of agents'),
    query: COMMON.query,
    limit: option('<number>', 'replay at most this many runs, the newest first', { read: wholeNumber(1), default: 20 }),
    save: option(
      '<folder>',
      'keep the histories as files in this folder, with payloads as the server has them, to replay them without a server',
    ),
  },
});
export type ReplayFlags = FlagsOf<typeof REPLAY>;

/** The options that name a part of a memory. The tenant and the user are those of the command. */
const MEMORY_OPTIONS = {
  memory: option('<file>', 'the file of a SQLite memory, or of a file memory (.json)', { required: true }),
  agent: option('<name>', 'the agent whose memory it is, or the name that several agents share'),
  scope: option('<name>', 'the scope of programs whose memory it is, instead of an agent'),
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
  description:
    'Removes one entry, all entries of an agent or a scope, or, without either, all of the user. "longhaul forget" also removes runs.',
  options: { ...MEMORY_OPTIONS, key: option('<key>', 'only the entry with this key') },
});
export type ForgetMemoryFlags = FlagsOf<typeof FORGET_MEMORY>;

const file = option('<file>', 'the file of the keys (default: LONGHAUL_KEYS_FILE, then ./longhaul-keys.json)');

export const CREATE_KEY = defineCommand({
  name: 'keys create',
  summary: 'create an API key',
  description:
    'Creates an API key and prints it, once. The key acts for --tenant and --user; without them it reaches all runs, and the command says so.',
  options: {
    file,
    name: option('<name>', 'the purpose of the key, for people', { required: true }),
    scope: option('<scope>', 'a right of the key; may be repeated', {
      required: true,
      choices: SCOPES,
      read: readScope,
      manual:
        'The key acts for `--tenant` and `--user`. Without them it reaches the runs of all tenants and users, and the command says so',
    }),
    agent: option('<name>', 'an agent or program that the key may start; may be repeated (default: all)', { read: repeatable }),
    expires: option('<time>', 'the time after which the key expires, such as 12h or 30d (default: never)', { read: duration }),
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
