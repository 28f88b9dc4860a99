import { readFileSync } from 'node:fs';
import { defineRouteMiddleware } from '@astrojs/starlight/route-data';

// Each page has the links of its own branch only: with all of them in each page, the pages of the reference would be most of the site.
const { branches, home, above, version } = JSON.parse(readFileSync('./.cache/branches.json', 'utf8'));

/** The list of a group, and of many pages only those near the present one: the list has them all. */
function near(links) {
  if (links.length <= MOST) return links;
  const here = links.findIndex(({ isCurrent }) => isCurrent);
  const from = Math.max(1, here - MOST / 2);
  return [links[0], ...links.slice(from, from + MOST)];
}

const MOST = 24;

export const onRequest = defineRouteMiddleware((context) => {
  const route = context.locals.starlightRoute;
  const here = route.id === 'index' ? '' : route.id;
  const own = branches.find(({ groups }) => groups.some(({ pages }) => pages.some(({ slug }) => slug === here)));
  const link = ({ label, slug }) => ({
    type: 'link',
    label,
    href: slug === '' ? home : `${home}${slug}/`,
    isCurrent: slug === here,
    badge: undefined,
    attrs: {},
  });
  route.sidebar = branches.flatMap((branch) => {
    if (branch !== own) return [{ ...link({ label: branch.name, slug: branch.first }), isCurrent: false, attrs: { class: 'branch' } }];
    const { groups } = branch;
    const entries = groups.flatMap(({ name, pages, isOpen }) => {
      const links = pages.map(link);
      if (name === undefined) return links;
      // A group of the reference that the page is not in is one link: to its list.
      const isOwn = pages.some(({ slug }) => slug === here);
      if (!isOwn && !isOpen) return [link(pages[0])];
      return [{ type: 'group', label: name, entries: near(links), collapsed: false, badge: undefined }];
    });
    return [{ type: 'group', label: branch.name, entries, collapsed: false, badge: undefined }];
  });
  route.sidebar.push({ ...link({ label: `Version ${version}: all versions`, slug: '' }), href: above, isCurrent: false });
  route.hasSidebar = true;
  const pages = own?.groups.flatMap((group) => group.pages) ?? [];
  const index = pages.findIndex(({ slug }) => slug === here);
  route.pagination = {
    prev: index > 0 ? link(pages[index - 1]) : undefined,
    next: index >= 0 && index + 1 < pages.length ? link(pages[index + 1]) : undefined,
  };
  // The page as Markdown, for programs that read it.
  if (here !== '404')
    route.head.push({
      tag: 'link',
      attrs: { rel: 'alternate', type: 'text/markdown', href: `${home}${here === '' ? 'index' : here}.md` },
      content: '',
    });
});
