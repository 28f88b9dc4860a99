import type { Scope } from '../../../server/auth/caller.ts';
import { createApiKey } from '../../../server/auth/api-keys/create-api-key.ts';
import { fileApiKeys } from '../../../server/auth/api-keys/file-api-keys.ts';
import { type Duration, milliseconds } from '../../../core/domain/time.ts';
import { identityOf } from '../../../core/domain/run.ts';
import type { CommandIo } from '../../program/command.ts';
import { actingPrincipal } from '../../with-client.ts';
import { keyJson } from './key-facts.ts';
import { keysFile, type KeysFlags } from './keys-file.ts';

/** The options of `longhaul keys create`. */
export interface CreateKeyFlags extends KeysFlags {
  name: string;
  scope: Scope[];
  agent?: string[];
  expires?: Duration;
}

/** Creates an API key, and prints it: the only time that its secret is shown. Needs no server. */
export async function createKey({ output, terminal }: CommandIo, flags: CreateKeyFlags): Promise<number> {
  const file = keysFile(flags, terminal.env);
  const principal = actingPrincipal(flags, terminal.env);
  const { key, text } = await createApiKey(fileApiKeys({ file }), {
    name: flags.name,
    scopes: [...new Set(flags.scope)],
    ...(flags.agent === undefined ? {} : { agents: flags.agent }),
    ...(principal === undefined ? {} : { principal: identityOf(principal) }),
    ...(flags.expires === undefined ? {} : { expiresAt: Date.now() + milliseconds(flags.expires, '--expires') }),
  });
  if (output.json) output.printJson({ ...keyJson(key), key: text });
  else output.print(text);
  output.note(`The key "${key.id}" is in "${file}", without its secret: keep the line above now, because it is not shown again.`);
  if (principal === undefined) output.note('The key reaches the runs of all tenants and users: --tenant and --user limit it.');
  return 0;
}
