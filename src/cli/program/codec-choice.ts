import { type CodecOptions, environmentKeys, KEYS_VARIABLE } from '../../codec/encryption.ts';
import { UsageError } from '../../core/domain/errors.ts';

/** The environment variable that replaces `--codec`. */
const CODEC_VARIABLE = 'LONGHAUL_CODEC';

/**
 * Returns the codec of a command: from `--codec`, else from `LONGHAUL_CODEC`. If there are keys, it always encrypts: a user
 * who has set keys does not want clear text. Throws a UsageError for an unknown part, and for encryption without keys.
 */
export function chosenCodec({ codec: flag }: { codec?: string }, env: NodeJS.ProcessEnv): CodecOptions {
  const keys = environmentKeys(env);
  const codec: CodecOptions = keys === undefined ? {} : { encryption: keys };
  for (const part of (flag ?? env[CODEC_VARIABLE] ?? '').split(',').map((text) => text.trim())) {
    if (part === '') continue;
    const compression = /^compression(?:=(\d+))?$/.exec(part);
    if (compression !== null) codec.compression = compression[1] === undefined ? true : { threshold: Number(compression[1]) };
    else if (part !== 'encryption') throw new UsageError(unknownPart(part, flag === undefined ? CODEC_VARIABLE : '--codec'));
    else if (keys === undefined) throw new UsageError(`There is no key to encrypt with: set ${KEYS_VARIABLE} to id:base64`);
  }
  return codec;
}

/** True if data is encoded, so that every reader needs the codec too. */
export function encodes({ compression, encryption }: CodecOptions): boolean {
  return encryption !== undefined || (compression !== undefined && compression !== false);
}

function unknownPart(part: string, where: string): string {
  return `"${part}" in ${where} is not a part of a codec: write compression, compression=<bytes> or encryption, separated by commas`;
}
