import { userInfo } from 'node:os';

/**
 * Returns the name of the operating system's user, or undefined if this process has none (a container with a numeric
 * user id).
 */
export function osUser(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}
