import { UsageError } from '../core/domain/errors.ts';
import { installedSdk } from './installed-sdk.ts';

/** The oldest version of Temporal's SDK that has all that runs need: `peerDependencies` of the package says the same. */
export const OLDEST_SDK = '1.24.0';

let isChecked = false;

/**
 * Throws a UsageError that names the versions found if they are not one version of Temporal's SDK, or one that is too old.
 * They are looked up until they are found to be right, thus usually once in a process.
 */
export function requireSdk(): void {
  if (isChecked) return;
  const problem = sdkProblem(installedSdk());
  if (problem !== undefined) throw new UsageError(`longhaul cannot run here: ${problem}`);
  isChecked = true;
}

/**
 * Says what is wrong with the versions of the SDK's packages; undefined if nothing is. Each package of the SDK depends on
 * the others at its own version exactly: of two versions in one project each brings copies of what they share, and an
 * object that one of them has made is foreign to the other.
 */
export function sdkProblem(versions: Readonly<Record<string, string>>): string | undefined {
  const found = new Set(Object.values(versions));
  if (found.size > 1) {
    return `the packages of Temporal's SDK have different versions (${listOf(versions)}): install all of them at one version`;
  }
  const [version] = found;
  if (version === undefined || isNewEnough(version)) return undefined;
  return `Temporal's SDK is at ${version}, and ${OLDEST_SDK} or newer of 1.x is needed: install "@temporalio/*" at such a version`;
}

function listOf(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

function isNewEnough(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor = 0] = OLDEST_SDK.split('.').map(Number);
  return major === oldestMajor && minor !== undefined && minor >= oldestMinor;
}
