import { userInfo } from 'node:os';

/** The name of the person at the command line; undefined where the system has none for this process (a container under a bare number). */
export function osUser(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}
