/** A reference to a secret by its name. Code and configuration hold it instead of the value, which only the worker knows. */
export interface SecretReference {
  readonly kind: 'longhaul.secret';
  readonly name: string;
  /** Text put before the value when it is read: `Bearer ` turns a token into a header. */
  readonly prefix?: string;
}

/** True for a reference made by `secret()`, and for a copy of it that went through JSON. */
export function isSecretReference(value: unknown): value is SecretReference {
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== 'longhaul.secret') return false;
  if (!('name' in value) || typeof value.name !== 'string') return false;
  return !('prefix' in value) || value.prefix === undefined || typeof value.prefix === 'string';
}
