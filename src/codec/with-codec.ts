import type { DataConverter, PayloadCodec } from '@temporalio/common';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../core/domain/errors/error.ts';
import { didYouMean } from '../core/domain/errors/nearest-name.ts';
import type { CodecOptions } from './codec-options.ts';
import { CompressionCodec } from './compression-codec.ts';
import { EncryptionCodec } from './encryption-codec.ts';
import { environmentKeys, KEYS_VARIABLE } from './environment-keys.ts';
import { Keyring } from './keyring.ts';
import { MarkingCodec } from './marking-codec.ts';

/** The module that a client, a worker and a workflow bundle load where failures are encoded: the source or the built form. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(new URL(`./failure-converter${extname(import.meta.url)}`, import.meta.url));

const OPTIONS = ['compression', 'encryption'];

/** The codecs of the options, in the order of encoding. Throws a UsageError for options and keys that cannot be used. */
export function createCodecs(codec: CodecOptions = {}): readonly [CompressionCodec, EncryptionCodec] {
  const unknown = Object.keys(codec).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`codec has an unknown option "${unknown}" (known: ${OPTIONS.join(', ')})${didYouMean(unknown, OPTIONS)}`);
  }
  return [new CompressionCodec(codec.compression), new EncryptionCodec(keyring(codec.encryption))];
}

/**
 * The data converter of a client or a worker with the codecs of the options after its own, so that what its own produce
 * is encrypted too. With encryption, messages and stacks of failures are encoded as well. Without options it only
 * reads; applied again, the last options hold. `codecs`: those of the options, if they exist. Throws a UsageError for
 * options that cannot be used, and for a failure converter beside encryption.
 */
export function withCodec(
  converter: DataConverter = {},
  options?: CodecOptions,
  codecs: readonly PayloadCodec[] = createCodecs(options),
): DataConverter {
  const own = (converter.payloadCodecs ?? []).filter((one) => !isOurs(one));
  if (options === undefined && own.length < (converter.payloadCodecs?.length ?? 0)) return converter;
  const payloadCodecs = [...own, ...codecs];
  if (options?.encryption === undefined) return { ...converter, payloadCodecs };
  const { failureConverterPath } = converter;
  if (failureConverterPath !== undefined && failureConverterPath !== FAILURE_CONVERTER_PATH) {
    throw new UsageError(
      `codec.encryption brings its own failure converter, and dataConverter.failureConverterPath is "${failureConverterPath}": ` +
        'leave that out, or encryption, because messages of failures would stay in clear text',
    );
  }
  return { ...converter, payloadCodecs, failureConverterPath: FAILURE_CONVERTER_PATH };
}

/**
 * The same data converter for a worker: what its codecs of Longhaul cannot decode becomes a payload that says so, and a
 * run refuses it. A key that has decrypted nothing so far may have the wrong bytes: then the worker fails the task, which
 * another worker may be able to do. A codec of the user stays as it is.
 */
export function markingUnreadable(converter: DataConverter = {}): DataConverter {
  return { ...converter, payloadCodecs: markingCodecs(converter.payloadCodecs ?? [], { doubtKeys: true }) };
}

/** The same codecs, of which those of Longhaul mark what they cannot decode; with `doubtKeys` not if a key may have the wrong bytes. */
export function markingCodecs(codecs: readonly PayloadCodec[], { doubtKeys = false } = {}): PayloadCodec[] {
  return codecs.map((one) => (one instanceof CompressionCodec || one instanceof EncryptionCodec ? new MarkingCodec(one, doubtKeys) : one));
}

function isOurs(codec: PayloadCodec): boolean {
  return codec instanceof MarkingCodec || codec instanceof CompressionCodec || codec instanceof EncryptionCodec;
}

function keyring(encryption: CodecOptions['encryption']): Keyring | undefined {
  if (encryption === undefined) return undefined;
  if (encryption !== 'environment') return new Keyring(encryption);
  const keys = environmentKeys(process.env);
  if (keys === undefined)
    throw new UsageError(`codec.encryption is "environment" and ${KEYS_VARIABLE} is not set: set it to id:base64, the active key first`);
  return new Keyring(keys);
}
