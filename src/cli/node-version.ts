/** The oldest Node that has all that is used: `engines` of the package. */
const OLDEST = { major: 22, minor: 15 };

/** What is wrong with a version of Node such as `20.19.1`; undefined where it is new enough. Older ones fail where something is missing, with an error that says nothing. */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return undefined;
  return `Node ${OLDEST.major}.${OLDEST.minor} or newer is needed, and this is ${version}: install a newer one, or put it first in PATH`;
}
