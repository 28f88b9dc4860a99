import { UsageError } from '../../../core/domain/errors.ts';
import { parseApiKey } from '../../../server/auth/api-keys/api-key-text.ts';
import type { CommandIo } from '../../program/command.ts';
import { existingKeys, keysFile, type KeysFlags } from './keys-file.ts';

/** The options of `longhaul keys revoke`. */
export interface RevokeKeyFlags extends KeysFlags {
  keyId: string;
}

/** Revokes an API key: servers refuse it from their next request on. Needs no server. */
export async function revokeKey({ output, terminal }: CommandIo, { keyId, ...flags }: RevokeKeyFlags): Promise<number> {
  const file = keysFile(flags, terminal.env);
  // A key that was found where it should not be may be given as it is. Its secret is not repeated.
  const id = parseApiKey(keyId)?.id ?? keyId;
  if (!(await existingKeys(file).revoke(id, Date.now()))) {
    throw new UsageError(`There is no key "${id}" in "${file}": "npx longhaul keys list" shows those that there are`);
  }
  if (output.json) output.printJson({ id, revoked: true });
  else output.print(`The key "${id}" is revoked`);
  return 0;
}
