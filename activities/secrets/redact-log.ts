import { inspect } from 'node:util';
import type { RunLog } from '../../src/define/context/run-context.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import type { SecretVault } from './secret-vault.ts';

/** The depth to which lists and plain objects are copied. A deeper value is shown as text if it contains a secret. */
const COPIED_DEPTH = 8;

/** Returns a log that redacts secrets in messages and fields. Until the vault has read a secret, lines pass unchanged. */
export function redactedLog(vault: SecretVault, log: RunLog): RunLog {
  const line =
    (level: keyof RunLog): RunLog[keyof RunLog] =>
    (message, fields) => {
      if (vault.isUnused) return log[level](message, fields);
      // Code without type checks may log an error as the message: a line of the log is not worth a failed call.
      const text: unknown = message;
      return log[level](vault.redact(String(text)), fields === undefined ? undefined : redactFields(vault, fields));
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

/**
 * Redacts secrets in the fields of a log line. An error, a Map or another live object is kept if it contains no secret,
 * and becomes text if it does.
 */
function redactFields(vault: SecretVault, fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [vault.redact(key), redactField(vault, value, 0)]));
}

function redactField(vault: SecretVault, value: unknown, depth: number): unknown {
  if (typeof value === 'string' || typeof value === 'number') return vault.redactJson(value);
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  if (depth < COPIED_DEPTH && Array.isArray(value)) return value.map((one: unknown) => redactField(vault, one, depth + 1));
  if (depth < COPIED_DEPTH && isPlain(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [vault.redact(key), redactField(vault, one, depth + 1)]));
  }
  return redactLive(vault, value);
}

/** Redacts a live object. Its display depends on the logger, which may use its JSON, its inspection, or its bytes. */
function redactLive(vault: SecretVault, value: unknown): unknown {
  try {
    const bytes = ArrayBuffer.isView(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString() : undefined;
    const shown = bytes ?? inspect(value, { depth: COPIED_DEPTH, maxArrayLength: null, maxStringLength: null });
    const clean = vault.redact(shown);
    if (clean !== shown) return clean;
    return vault.leak(jsonOf(value)) === undefined ? value : clean;
  } catch {
    return '[This value could not be searched for secrets]';
  }
}

/** Returns the JSON form of a value: null if it has none, or if conversion throws for a cycle or a bigint. */
function jsonOf(value: unknown): JsonValue {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null') as JsonValue;
  } catch {
    return null;
  }
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
