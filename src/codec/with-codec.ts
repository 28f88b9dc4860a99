import { type DataConverter, defaultPayloadConverter, type LoadedDataConverter, type PayloadCodec } from '@temporalio/common';
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../core/domain/errors/error.ts';
import { didYouMean } from '../core/domain/errors/nearest-name.ts';
import type { CodecOptions } from './codec-options.ts';
import { CompressionCodec } from './compression-codec.ts';
import { EncryptionCodec } from './encryption-codec.ts';
import { failureConverter } from './failure-converter.ts';
import { environmentKeys, KEYS_VARIABLE } from './environment-keys.ts';
import { Keyring } from './keyring.ts';
import { MarkingCodec } from './marking-codec.ts';

/**
 * The path of the module that clients, workers and workflow bundles load to encode failures: the source or the built
 * file. Empty in a bundle of a service, which has that module inside, and whose format may have no `import.meta`.
 */
export const FAILURE_CONVERTER_PATH = fileBeside(import.meta.url, 'failure-converter');

function fileBeside(url: string | undefined, name: string): string {
  if (url === undefined) return '';
  const path = fileURLToPath(new URL(`./${name}${extname(url)}`, url));
  return existsSync(path) ? path : '';
}

const OPTIONS = ['compression', 'encryption'];

/** Returns the codecs for these options, in the order of encoding. Throws a UsageError for invalid options and keys. */
export function createCodecs(codec: CodecOptions = {}): readonly [CompressionCodec, EncryptionCodec] {
  const unknown = Object.keys(codec).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`codec has an unknown option "${unknown}" (known: ${OPTIONS.join(', ')})${didYouMean(unknown, OPTIONS)}`);
  }
  return [new CompressionCodec(codec.compression), new EncryptionCodec(keyring(codec.encryption))];
}

/**
 * Returns the data converter of a client or a worker with the codecs of the options after its own, so that the output
 * of its own codecs is encrypted too. With encryption, messages and stacks of failures are encoded as well. Without
 * options it only decodes; if applied again, the last options count. `codecs` are the codecs of the options, if they
 * exist already. Throws a UsageError for invalid options, and for encryption together with a custom failure
 * converter.
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
  if (FAILURE_CONVERTER_PATH !== '') return { ...converter, payloadCodecs, failureConverterPath: FAILURE_CONVERTER_PATH };
  const { payloadConverterPath, ...rest } = converter;
  if (payloadConverterPath !== undefined) {
    throw new UsageError(
      'codec.encryption and dataConverter.payloadConverterPath work together only where "longhaul" is not bundled: leave it out of the bundle (external)',
    );
  }
  // Temporal's clients also take a converter whose modules are loaded: in a bundle there is no file to load.
  const loaded: LoadedDataConverter = { ...rest, payloadConverter: defaultPayloadConverter, failureConverter, payloadCodecs };
  return loaded;
}

/**
 * Returns the same data converter for a worker: a payload that Longhaul's codecs cannot decode becomes a payload that
 * says so, and a run refuses it. A key that has decrypted nothing so far may have the wrong bytes; then the worker
 * fails the task, which another worker may be able to do. The user's own codecs stay unchanged.
 */
export function markingUnreadable(converter: DataConverter = {}): DataConverter {
  return { ...converter, payloadCodecs: markingCodecs(converter.payloadCodecs ?? [], { doubtKeys: true }) };
}

/**
 * Returns the same codecs, with those of Longhaul marking payloads that they cannot decode. With `doubtKeys` they
 * fail instead if a key may have the wrong bytes.
 */
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
