/** The required versions of Node, as in `engines` of the package. 22.18 is the first that loads TypeScript without a build and has zstd. */
export const NEEDED_NODE = 'Node 22.18, or 24 and newer';

/**
 * Returns the problem with a version of Node such as `20.19.1`; undefined if it is supported. Without this check, an older version fails
 * because of a missing feature, with an error that does not name the cause.
 */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major >= 24 || (major === 22 && minor >= 18)) return undefined;
  return `${NEEDED_NODE}, is needed, and this is ${version}: install one of those, or put it first in PATH`;
}
