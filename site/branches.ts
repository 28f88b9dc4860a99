import type { Page } from './pages.ts';

/** The file `sidebar.json`: each branch with its pages in order. `cookbook/*` are all pages of a folder that are not named. */
export interface Sidebar {
  branches: { name: string; pages: string[] }[];
}

/** A branch as pages show it. */
export interface Branch {
  name: string;
  /** The page to which the other branches lead. */
  first: string;
  groups: { name?: string; isOpen?: true; pages: { slug: string; label: string }[] }[];
}

/** Puts each page into its branch, and says which pages are in none, and which names are of no page. Those of the reference may be left out: a site can be built without. */
export function branchesOf({ branches }: Sidebar, pages: readonly Page[]): { branches: Branch[]; problems: string[] } {
  const bySlug = new Map(pages.map((page) => [page.slug === '' ? 'README' : page.slug, page]));
  const named = new Set(branches.flatMap((branch) => branch.pages));
  const taken = new Set<string>();
  const unknown: string[] = [];
  const hasReference = pages.some(({ slug }) => slug.startsWith('reference/'));
  const made = branches.map(({ name, pages: wanted }) => {
    const found = wanted.flatMap((one) => {
      const slugs = one.endsWith('/*') ? [...bySlug.keys()].filter((slug) => slug.startsWith(one.slice(0, -1)) && !named.has(slug)) : [one];
      if (!slugs.some((slug) => bySlug.has(slug)) && (hasReference || !/^reference\b/.test(one)))
        unknown.push(`"${one}" of the branch "${name}" in site/sidebar.json is no page`);
      return slugs.flatMap((slug) => (bySlug.has(slug) && !taken.has(slug) ? [slug] : []));
    });
    for (const slug of found) taken.add(slug);
    return { name, first: addressed(found[0]), groups: groupsOf(found.map((slug) => bySlug.get(slug)!)) };
  });
  return {
    // A branch that has no page yet is left out.
    branches: made.filter(({ groups }) => groups.some((group) => group.pages.length > 0)),
    problems: [
      ...[...bySlug.keys()].flatMap((slug) => (taken.has(slug) ? [] : [`"${slug}" is in no branch of site/sidebar.json`])),
      ...unknown,
    ],
  };
}

/** Pages of the reference are in groups, one for each folder: a page shows the list of its own group alone. */
function groupsOf(pages: readonly Page[]): Branch['groups'] {
  const groups: Branch['groups'] = [{ pages: [] }];
  for (const { slug, title } of pages) {
    const [, folder] = /^reference\/(.+)\/[^/]+$/.exec(slug) ?? [];
    const isFirstOfFolder = pages.some((page) => page.slug.startsWith(`${slug}/`)) && slug.startsWith('reference/');
    // The list of an entry such as `longhaul/client` is the first page of its own group, and none of those of `longhaul`.
    const name = isFirstOfFolder ? slug.replace('reference/', '') : folder;
    let group = groups.find((one) => one.name === name);
    if (group === undefined) groups.push((group = { ...(name === undefined ? {} : { name }), pages: [] }));
    group.pages.push({ slug, label: title });
  }
  return groups.filter((group) => group.pages.length > 0);
}

function addressed(slug: string | undefined): string {
  return slug === undefined || slug === 'README' ? '' : slug;
}
