import type { CodecOptions } from '../../codec/codec-options.ts';
import { environmentKeys, KEYS_VARIABLE } from '../../codec/environment-keys.ts';
import { UsageError } from '../../core/domain/errors/error.ts';

/** The variable that stands for `--codec`. */
const CODEC_VARIABLE = 'LONGHAUL_CODEC';

/**
 * How a command encodes: by `--codec`, else by `LONGHAUL_CODEC`. Where there are keys, it encrypts in any case: nobody who
 * has them set wants clear text. Throws a UsageError for a part that is none, and for encryption without keys.
 */
export function chosenCodec({ codec: flag }: { codec?: string }, env: NodeJS.ProcessEnv): CodecOptions {
  const keys = environmentKeys(env);
  const codec: CodecOptions = keys === undefined ? {} : { encryption: keys };
  for (const part of (flag ?? env[CODEC_VARIABLE] ?? '').split(',').map((text) => text.trim())) {
    if (part === '') continue;
    const compression = /^compression(?:=(\d+))?$/.exec(part);
    if (compression !== null) codec.compression = compression[1] === undefined ? true : { threshold: Number(compression[1]) };
    else if (part !== 'encryption') throw new UsageError(unknownPart(part, flag === undefined ? CODEC_VARIABLE : '--codec'));
    else if (keys === undefined) throw new UsageError(`There is nothing to encrypt with: set ${KEYS_VARIABLE} to id:base64`);
  }
  return codec;
}

/** Whether anything is encoded, so that others need the codec too in order to read it. */
export function encodes({ compression, encryption }: CodecOptions): boolean {
  return encryption !== undefined || (compression !== undefined && compression !== false);
}

function unknownPart(part: string, where: string): string {
  return `"${part}" in ${where} is no part of a codec: write compression, compression=<bytes> or encryption, separated by commas`;
}
