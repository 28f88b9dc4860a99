import { type Command, InvalidArgumentError } from 'commander';
import { isScope } from '../../server/auth/access/scopes.ts';
import { type Scope, SCOPES } from '../../server/auth/caller.ts';
import type { CreateKeyFlags } from '../commands/keys/create-key.ts';
import type { KeysFlags } from '../commands/keys/keys-file.ts';
import type { RevokeKeyFlags } from '../commands/keys/revoke-key.ts';
import { duration, oneMore } from './argument-parsers.ts';
import type { RunCommand } from './command.ts';

/** Adds the commands about API keys, which need no server. */
export function addKeyCommands(program: Command, run: RunCommand): void {
  const keys = program
    .command('keys')
    .summary('create, list or revoke API keys')
    .description('Commands about the API keys of "longhaul serve", which are kept in a file without their secrets.');
  inFile(keys.command('create'))
    .summary('create an API key')
    .description('Creates an API key and prints it, once. --tenant and --user say whom it acts for; without them, it reaches all runs.')
    .requiredOption('--name <name>', 'the purpose of the key, for people')
    .requiredOption('--scope <scope>', `a right of the key, may be repeated: ${SCOPES.join(', ')}`, oneMoreScope)
    .option('--agent <name>', 'an agent or program that the key may start, may be repeated (default: all)', oneMore)
    .option('--expires <time>', 'the time after which it expires, such as 12h or 30d (default: never)', duration)
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('../commands/keys/create-key.ts')).createKey, command.optsWithGlobals<CreateKeyFlags>());
    });
  inFile(keys.command('list'))
    .summary('list API keys')
    .description('Lists the API keys with their rights, in the order of their creation.')
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('../commands/keys/list-keys.ts')).listKeys, command.optsWithGlobals<KeysFlags>());
    });
  inFile(keys.command('revoke'))
    .argument('<key>', 'the id of the key, as "longhaul keys list" shows it')
    .summary('revoke an API key')
    .description('Revokes an API key: servers that read the file refuse it from their next request on.')
    .action(async (keyId: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<RevokeKeyFlags>(), keyId };
      await run(async () => (await import('../commands/keys/revoke-key.ts')).revokeKey, flags);
    });
}

function inFile(command: Command): Command {
  return command.option('--file <file>', 'the file with the keys; else LONGHAUL_KEYS_FILE, ./longhaul-keys.json');
}

function oneMoreScope(text: string, before: readonly Scope[] = []): Scope[] {
  if (isScope(text)) return [...before, text];
  throw new InvalidArgumentError(`Allowed choices are ${SCOPES.join(', ')}.`);
}
