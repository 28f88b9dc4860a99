import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';

/** The version of what is not released yet. */
export const NEXT = 'next';

const RELEASE = /^\d+\.\d+$/;

/** Returns the version of what is checked out in a repository: that of the release whose tag it has, such as 0.1 of `v0.1.3`, and otherwise `next`. */
export function versionOf(repository: string): string {
  try {
    const tags = execFileSync('git', ['tag', '--points-at', 'HEAD'], {
      cwd: repository,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return /^v(\d+\.\d+)\.\d+$/m.exec(tags)?.[1] ?? NEXT;
  } catch {
    // Sources without a repository.
    return NEXT;
  }
}

/** Returns the versions in a folder of built sites: the newest release first, and `next` at the end. */
export function versionsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const built = readdirSync(folder).filter((name) => existsSync(`${folder}/${name}/index.html`));
  return [...built.filter((name) => RELEASE.test(name)).toSorted(newestFirst), ...built.filter((name) => name === NEXT)];
}

function newestFirst(one: string, other: string): number {
  const [major = 0, minor = 0] = one.split('.').map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number);
  return otherMajor - major || otherMinor - minor;
}

/** The sites next to the one that is built. */
export interface Siblings {
  /** The folder that has a folder for each version. */
  folder: string;
  /** The version that is built. */
  version: string;
}

/**
 * Returns the version whose page search engines should show: the newest release that has it, among those that are built and the one that is
 * being built. A page that no release has is its own.
 */
export function canonicalVersion(slug: string, { folder, version }: Siblings): string {
  const releases = versionsIn(folder).filter((name) => name !== NEXT && name !== version);
  const candidates = [...releases, ...(version === NEXT ? [] : [version])].toSorted(newestFirst);
  return (
    candidates.find((name) => name === version || existsSync(`${folder}/${name}/${slug === '' ? '' : `${slug}/`}index.html`)) ?? version
  );
}

/** Throws for a version whose folder nothing would find: releases are named by two numbers. */
export function requireVersion(version: string): void {
  if (version === NEXT || RELEASE.test(version)) return;
  throw new Error(`There is no version "${version}": write ${NEXT}, or the two numbers of a release, like 0.1`);
}

/** Throws if the site of a release is built already: older ones are kept as they were. */
export function requireUnbuilt({ folder, version }: Siblings): void {
  if (version === NEXT || !existsSync(`${folder}/${version}`)) return;
  throw new Error(`The site of ${version} is built, and is kept as it was: remove the folder "${folder}/${version}" to build it again`);
}

/** Writes the page above the versions: it names all, the newest release first. */
export function writeVersions(folder: string, base: string): void {
  const versions = versionsIn(folder);
  const items = versions.map((name) => `<li><a href="${base}${name}/">${name === NEXT ? 'next (not released)' : name}</a></li>`);
  writeFileSync(`${folder}/versions.json`, `${JSON.stringify(versions)}\n`);
  writeFileSync(
    `${folder}/index.html`,
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'self'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Longhaul: versions</title>
</head>
<body>
<main>
<h1>Longhaul: the documentation of each version</h1>
<ul>
${items.join('\n')}
</ul>
</main>
</body>
</html>
`,
  );
}
