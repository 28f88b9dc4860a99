import { memberPath } from '../../src/core/domain/json/json-path.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import type { SecretRedactor } from './secret-redactor.ts';

/**
 * Returns the value with secrets redacted in its texts and keys; a number that is a secret becomes a text. Returns the
 * same value if it has no secret.
 */
export function redactJson(traces: SecretRedactor, value: JsonValue): JsonValue {
  if (traces.isEmpty || !traces.mayBeInJson(JSON.stringify(value))) return value;
  return redactMember(traces, value);
}

/** Returns the path to the first secret in a value, with secrets in the path redacted; undefined if the value has none. */
export function secretPath(traces: SecretRedactor, value: JsonValue, path: string): string | undefined {
  if (traces.isEmpty || !traces.mayBeInJson(JSON.stringify(value))) return undefined;
  return pathIn(traces, value, path);
}

function redactMember(traces: SecretRedactor, value: JsonValue): JsonValue {
  if (typeof value === 'string') return traces.redact(value);
  if (typeof value === 'number') return redactNumber(traces, value);
  if (Array.isArray(value)) return value.map((one) => redactMember(traces, one));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [traces.redact(key), redactMember(traces, one)]));
}

/** Redacts a number only if it is a secret as a whole: a few digits would be found in many numbers. */
function redactNumber(traces: SecretRedactor, value: number): JsonValue {
  return traces.isWhole(String(value)) ? traces.redact(String(value)) : value;
}

function pathIn(traces: SecretRedactor, value: JsonValue, path: string): string | undefined {
  if (typeof value === 'string') return traces.isIn(value) ? path : undefined;
  if (typeof value === 'number') return traces.isWhole(String(value)) ? path : undefined;
  const members: [string | number, JsonValue][] = Array.isArray(value)
    ? [...value.entries()]
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  for (const [key, member] of members) {
    const here = memberPath(path, typeof key === 'string' ? traces.redact(key) : key);
    const found = typeof key === 'string' && traces.isIn(key) ? here : pathIn(traces, member, here);
    if (found !== undefined) return found;
  }
  return undefined;
}
