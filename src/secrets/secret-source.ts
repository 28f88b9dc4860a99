/** Reads one secret, from a secrets manager of yours: undefined where there is none of that name. What it throws is tried again. */
export type SecretProvider = (name: string) => string | undefined | Promise<string | undefined>;

/** A place with secrets that can say where it looks. */
export interface NamedSecretSource {
  /** Where the secret would be, for who reads that it is missing: `the environment variable CRM_TOKEN`. */
  where(name: string): string;
  /** The value, undefined where there is none of that name. What it throws is tried again. Called again after some minutes. */
  read: SecretProvider;
}

/** Where a worker has its secrets: `environmentSecrets()`, `fileSecrets({directory})`, or a function of yours. */
export type SecretSource = SecretProvider | NamedSecretSource;
