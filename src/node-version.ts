/** Which Node is needed, in words: `engines` of the package says the same. 22.18 is the first that loads TypeScript as it is, and has zstd. */
export const NEEDED_NODE = 'Node 22.18, or 24 and newer';

/** What is wrong with a version of Node such as `20.19.1`; undefined where it will do. Others fail where something is missing, with an error that says nothing. */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major >= 24 || (major === 22 && minor >= 18)) return undefined;
  return `${NEEDED_NODE}, is needed, and this is ${version}: install one of those, or put it first in PATH`;
}
