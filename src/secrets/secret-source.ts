/**
 * Reads one secret, for example from a secrets manager. Returns undefined if there is no secret with that name. The
 * call is retried if this throws.
 */
export type SecretProvider = (name: string) => string | undefined | Promise<string | undefined>;

/** A source of secrets that can describe where it reads them. */
export interface NamedSecretSource {
  /** Returns the location of a secret, for the message that it is missing: `the environment variable CRM_TOKEN`. */
  where(name: string): string;
  /**
   * Returns the value, or undefined if there is no secret with that name. The call is retried if this throws, and
   * repeated after some minutes to refresh the value.
   */
  read: SecretProvider;
}

/** The source of a worker's secrets: `environmentSecrets()`, `fileSecrets({directory})`, or a function of your own. */
export type SecretSource = SecretProvider | NamedSecretSource;
