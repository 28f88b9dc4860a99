import { existsSync } from 'node:fs';
import { UsageError } from '../../../core/domain/errors/error.ts';
import { anyOf } from '../../../server/auth/any-of.ts';
import { apiKeys } from '../../../server/auth/api-keys/api-keys.ts';
import { fileApiKeys } from '../../../server/auth/api-keys/file-api-keys.ts';
import type { Authenticate } from '../../../server/auth/caller.ts';
import { jwt } from '../../../server/auth/jwt/jwt.ts';
import { requireLoopback } from '../../../server/auth/loopback.ts';
import { environmentTokenSecrets } from '../../../server/auth/run-tokens/token-secrets.ts';
import { keysFile } from '../../commands/keys/keys-file.ts';

/** The flags that decide who may call the service. */
export interface AuthenticationFlags {
  host: string;
  /** The file of the API keys. */
  keys?: string;
  jwtIssuer?: string;
  jwtAudience?: string;
  /** The URL of the issuer's public keys. Default: its discovery document names it. */
  jwksUrl?: string;
}

/** The way in which the service verifies its callers. Without `authenticate`, every caller is an operator. */
export interface CallerVerification {
  /** The kinds of credentials that it takes, in words; none if every caller is an operator. */
  kinds: readonly string[];
  authenticate?: Authenticate;
  tokenSecrets?: readonly string[];
}

/**
 * Returns the way in which the service verifies its callers: by API keys if there is a file of them, and by tokens of an issuer. Throws a
 * UsageError for an address that other machines reach, if callers are not verified.
 */
export function callerVerification(flags: AuthenticationFlags, env: NodeJS.ProcessEnv): CallerVerification {
  const file = keysFile(flags.keys === undefined ? {} : { file: flags.keys }, env);
  const isNamed = flags.keys !== undefined || Boolean(env['LONGHAUL_KEYS_FILE']);
  if (isNamed && !existsSync(file))
    throw new UsageError(`There is no file "${file}" with API keys: make one by "npx longhaul keys create"`);
  const ways = [
    ...(existsSync(file) ? [{ kind: `API keys in ${file}`, authenticate: apiKeys(fileApiKeys({ file })) }] : []),
    ...issuerOf(flags),
  ];
  if (ways.length === 0) requireLoopback(flags.host);
  const secrets = environmentTokenSecrets(env);
  return {
    kinds: ways.map(({ kind }) => kind),
    ...(ways.length === 0 ? {} : { authenticate: anyOf(...ways.map(({ authenticate }) => authenticate)) }),
    ...(secrets === undefined ? {} : { tokenSecrets: secrets }),
  };
}

function issuerOf({
  jwtIssuer: issuer,
  jwtAudience: audience,
  jwksUrl,
}: AuthenticationFlags): { kind: string; authenticate: Authenticate }[] {
  if (issuer === undefined && audience === undefined && jwksUrl === undefined) return [];
  if (issuer === undefined || audience === undefined) throw new UsageError('--jwt-issuer and --jwt-audience belong together: write both');
  return [{ kind: `tokens of ${issuer}`, authenticate: jwt({ issuer, audience, ...(jwksUrl === undefined ? {} : { jwksUrl }) }) }];
}
