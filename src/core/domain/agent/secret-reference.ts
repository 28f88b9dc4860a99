/** A secret by its name: what code and configuration hold in the place of its value, which only the worker knows. */
export interface SecretReference {
  readonly kind: 'longhaul.secret';
  readonly name: string;
  /** Stands before the value when it is read: `Bearer ` makes a header of a token. */
  readonly prefix?: string;
}

/** True for what `secret()` makes, and for its copy that came through JSON. */
export function isSecretReference(value: unknown): value is SecretReference {
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== 'longhaul.secret') return false;
  if (!('name' in value) || typeof value.name !== 'string') return false;
  return !('prefix' in value) || value.prefix === undefined || typeof value.prefix === 'string';
}
