import { memberPath } from '../../src/core/domain/json/json-path.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import type { SecretRedactor } from './secret-redactor.ts';

/**
 * Returns the value with secrets redacted in its texts and keys; a number that is a secret becomes a text. Returns the
 * same value if it has no secret.
 */
export function redactJson(redactor: SecretRedactor, value: JsonValue): JsonValue {
  if (redactor.isEmpty || !redactor.mayContainSecret(JSON.stringify(value))) return value;
  return redactMember(redactor, value);
}

/** Returns the path to the first secret in a value, with secrets in the path redacted; undefined if the value has none. */
export function secretPath(redactor: SecretRedactor, value: JsonValue, path: string): string | undefined {
  if (redactor.isEmpty || !redactor.mayContainSecret(JSON.stringify(value))) return undefined;
  return pathIn(redactor, value, path);
}

function redactMember(redactor: SecretRedactor, value: JsonValue): JsonValue {
  if (typeof value === 'string') return redactor.redact(value);
  if (typeof value === 'number') return redactNumber(redactor, value);
  if (Array.isArray(value)) return value.map((one) => redactMember(redactor, one));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [redactor.redact(key), redactMember(redactor, one)]));
}

/** Redacts a number only if it is a secret as a whole: a few digits would be found in many numbers. */
function redactNumber(redactor: SecretRedactor, value: number): JsonValue {
  return redactor.isSecret(String(value)) ? redactor.redact(String(value)) : value;
}

function pathIn(redactor: SecretRedactor, value: JsonValue, path: string): string | undefined {
  if (typeof value === 'string') return redactor.containsSecret(value) ? path : undefined;
  if (typeof value === 'number') return redactor.isSecret(String(value)) ? path : undefined;
  const members: [string | number, JsonValue][] = Array.isArray(value)
    ? [...value.entries()]
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  for (const [key, member] of members) {
    const here = memberPath(path, typeof key === 'string' ? redactor.redact(key) : key);
    const found = typeof key === 'string' && redactor.containsSecret(key) ? here : pathIn(redactor, member, here);
    if (found !== undefined) return found;
  }
  return undefined;
}
