import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { branchesOf, type Sidebar } from './branches.ts';
import { finishSite } from './finish.ts';
import { deadLinks } from './links.ts';
import { addressOf, frontMattered, guidePages, type Page, type Target } from './pages.ts';
import { apiPages } from './reference/api-pages.ts';
import { factPages } from './reference/facts.ts';
import { quickenSearch } from './search.ts';
import { serveSite } from './serve.ts';
import { canonicalVersion, NEXT, requireUnbuilt, requireVersion, type Siblings, versionOf, writeVersions } from './versions.ts';

// `npm run site -- build`, `check` (a build that fails for warnings, dead links and pages without a branch), `serve`. `--out` is the folder that
// has a folder for each version; by default the version is that of the tag that is checked out, or `next`.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string', default: '/' },
    version: { type: 'string' },
    out: { type: 'string' },
    port: { type: 'string', default: '4321' },
    origin: { type: 'string', default: 'https://longhaul-agents.github.io' },
    ref: { type: 'string' },
    'without-reference': { type: 'boolean', default: false },
  },
});
const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('..', import.meta.url));
const version = values.version ?? versionOf(root);
requireVersion(version);
// The page of all versions is above those of each.
const above = `/${values.base}/`.replaceAll(/\/+/g, '/');
const base = `${above}${version}/`;
const siblings: Siblings = { folder: resolve(values.out ?? `${here}dist`), version };
const out = `${siblings.folder}/${version}`;
const { version: released } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string };
const target: Target = {
  base,
  repository: 'https://github.com/longhaul-agents/longhaul',
  ref: values.ref ?? (version === NEXT ? 'main' : `v${released}`),
};

const [command = 'build'] = positionals;
if (command === 'serve') {
  if (!existsSync(out)) build();
  const { url } = await serveSite({ folder: siblings.folder, base: above, first: base, port: Number(values.port) });
  console.log(`The site is at ${url}`);
} else if (command === 'build' || command === 'check') {
  const problems = build();
  if (command === 'check') {
    const dead = deadLinks(out, base, above);
    for (const problem of [...problems, ...dead]) console.error(problem);
    console.log(problems.length + dead.length === 0 ? 'check passed: no page without a branch, no dead link' : 'check failed');
    if (problems.length + dead.length > 0) {
      process.exitCode = 1;
      if (version !== NEXT) {
        // A release that is built is kept as it is: not one with faults.
        rmSync(out, { recursive: true, force: true });
        writeVersions(siblings.folder, above);
      }
    }
  } else {
    for (const problem of problems) console.error(`warning: ${problem}`);
  }
} else {
  console.error(`There is no "${command}": write build, check or serve`);
  process.exitCode = 2;
}

/** Writes the site, and returns what is wrong with its pages. */
function build(): string[] {
  requireUnbuilt(siblings);
  if (!existsSync(`${here}node_modules`)) {
    throw new Error('The packages of the site are not installed: run npm ci in the folder "site"');
  }
  rmSync(`${here}.cache/content`, { recursive: true, force: true });
  rmSync(`${here}.cache/public`, { recursive: true, force: true });
  rmSync(`${here}.cache/astro`, { recursive: true, force: true });
  rmSync(`${here}node_modules/.astro`, { recursive: true, force: true });
  rmSync(out, { recursive: true, force: true });
  mkdirSync(`${here}.cache`, { recursive: true });
  const guide = guidePages(root, target);
  const pages = [...guide.pages, ...(values['without-reference'] ? [] : reference())];
  const sidebar = JSON.parse(readFileSync(`${here}sidebar.json`, 'utf8')) as Sidebar;
  const { branches, problems } = branchesOf(sidebar, pages);
  writeFileSync(`${here}.cache/branches.json`, JSON.stringify({ branches, home: base, above, version }));
  for (const page of pages) {
    const file = page.slug === '' ? 'index' : page.slug;
    write(`.cache/content/${file}.md`, frontMattered(page, canonical(page)));
    write(`.cache/public/${file}.md`, `# ${page.title}\n\n${page.body}\n`);
  }
  for (const image of guide.images) {
    const to = `${here}.cache/public/${image.replace(/^docs\//, '')}`;
    mkdirSync(dirname(to), { recursive: true });
    cpSync(`${root}${image}`, to);
  }
  cpSync(`${here}src/favicon.svg`, `${here}.cache/public/favicon.svg`);
  write('.cache/public/llms.txt', llms(branches, pages));
  try {
    run('astro', ['build', '--silent']);
    finishSite(out, base);
    quickenSearch(out);
  } catch (error) {
    // Half a release would be kept as it is.
    rmSync(out, { recursive: true, force: true });
    throw error;
  }
  writeVersions(siblings.folder, above);
  return [...guide.problems, ...problems];
}

function reference(): Page[] {
  run('typedoc', ['--logLevel', 'Warn']);
  const json = `${here}.cache/api.json`;
  const list = {
    slug: 'reference',
    title: 'Reference',
    description: 'Every export, command, route, error, metric and limit, made from the code.',
  };
  const pages = [...factPages(root, target), ...apiPages(root, { json, target, version: released })];
  const tops = pages.filter(({ slug }) => slug.split('/').length === 2 || /^reference\/longhaul\/[a-z]+$/.test(slug));
  const entries = tops.filter(
    ({ slug }, index) => tops.findIndex((one) => one.slug === slug) === index && pages.some((page) => page.slug.startsWith(`${slug}/`)),
  );
  const facts = tops.filter((page) => !entries.includes(page) && !page.slug.startsWith('reference/longhaul'));
  const line = ({ slug, title, description }: Page): string => `- [${title}](${addressOf(slug, target)}): ${description}`;
  return [
    {
      ...list,
      body: `${list.description}\n\n## Entries of the package, and commands\n\n${entries.map(line).join('\n')}\n\n## Tables\n\n${facts.map(line).join('\n')}`,
    },
    ...pages,
  ];
}

/** The page of the newest release, if it has the page: search engines show that one alone. */
function canonical({ slug }: Page): string {
  return `${values.origin}${addressOf(slug, { ...target, base: `${above}${canonicalVersion(slug, siblings)}/` })}`;
}

/** A list of the pages for language models: https://llmstxt.org. */
function llms(branches: ReturnType<typeof branchesOf>['branches'], pages: readonly Page[]): string {
  const bySlug = new Map(pages.map((page) => [page.slug === '' ? 'README' : page.slug, page]));
  const sections = branches.map(({ name, groups }) => {
    const links = groups
      .flatMap((group) => group.pages)
      .map(({ slug, label }) => {
        const { description = '' } = bySlug.get(slug === '' ? 'README' : slug) ?? {};
        return `- [${label}](${base}${slug === '' ? 'index' : slug}.md): ${description}`;
      });
    return `## ${name}\n\n${links.join('\n')}`;
  });
  return `# Longhaul\n\n> Durable AI agents on Temporal: every run of an agent is a workflow whose history is the checkpoint.\n\n${sections.join('\n\n')}\n`;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(`${here}${path}`), { recursive: true });
  writeFileSync(`${here}${path}`, text);
}

/** Runs a program of the site's packages. */
function run(program: string, args: readonly string[]): void {
  // Astro and Vite would take these from whatever has started the build, such as a test.
  const rest = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !['BASE_URL', 'NODE_ENV', 'MODE', 'DEV', 'PROD', 'SSR'].includes(name)),
  );
  const env = { ...rest, SITE_BASE: base, SITE_OUT: out, SITE_ORIGIN: values.origin, ASTRO_TELEMETRY_DISABLED: '1' };
  const { status } = spawnSync(process.execPath, [`${here}node_modules/.bin/${program}`, ...args], { cwd: here, env, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${program} has failed`);
}
