import { existsSync, readFileSync } from 'node:fs';
import { blocksOf, RELEASED } from '../../test/docs/api-report.ts';
import { declarationIn, type Entry, packageEntries, textOf as sourceText } from '../../test/docs/declarations.ts';
import { table } from '../../test/docs/tables.ts';
import { addressOf, type Page, type Target } from '../pages.ts';
import { examplesOf, functionText, KIND, type Reflection, summaryOf, typeText } from './typedoc.ts';

/** What the pages are made from, besides the module that they are about. */
interface Sources {
  root: string;
  target: Target;
  version: string;
  /** The blocks of the report of the last release, by their headings. */
  released: ReadonlyMap<string, string[]>;
  /** The exports of all entries, by the id of their reflection. */
  byId: ReadonlyMap<number, Reflection>;
  /** The slug of the page of each export where it is declared first, by the id of its reflection. */
  places: ReadonlyMap<number, string>;
}

/** An entry of the package as TypeDoc has it, and as its file of types does. */
interface EntryModule {
  module: Reflection;
  entry: Entry;
}

/** Returns one page for each export, and one for each entry with the list of its exports. */
export function apiPages(root: string, { json, target, version }: { json: string; target: Target; version: string }): Page[] {
  const project = JSON.parse(readFileSync(json, 'utf8')) as Reflection;
  const entries = packageEntries();
  const modules = (project.children ?? []).map((module): EntryModule => {
    const file = module.sources?.[0]?.fileName ?? '';
    return { module, entry: entries.find((entry) => file.endsWith(entry.file.replace(/^dist\//, '')))! };
  });
  const exported = modules.flatMap(({ module: { children = [] }, entry }) => children.map((one) => ({ one, slug: slugOf(entry, one) })));
  const sources: Sources = {
    root,
    target,
    version,
    released: existsSync(`${root}/${RELEASED}`) ? blocksOf(readFileSync(`${root}/${RELEASED}`, 'utf8')) : new Map(),
    byId: new Map(exported.map(({ one }) => [one.id, one])),
    places: new Map(exported.flatMap(({ one, slug }) => (one.variant === 'reference' ? [] : [[one.id, slug]]))),
  };
  return modules.flatMap((module) => entryPages(sources, module));
}

function slugOf(entry: Entry, { name }: Reflection): string {
  return `reference/${entry.name}/${name}`;
}

function entryPages(sources: Sources, { module: { children = [] }, entry }: EntryModule): Page[] {
  const all = children.map((one) => ({ one, shown: one.target === undefined ? one : (sources.byId.get(one.target) ?? one) }));
  const rows = all.map(({ one, shown }) => [
    `[\`${one.name}\`](${addressOf(slugOf(entry, one), sources.target)})`,
    kindOf(shown),
    firstSentence(summaryOf(shown)),
  ]);
  const list: Page = {
    slug: `reference/${entry.name}`,
    title: entry.name,
    description: `Everything that ${entry.name} exports.`,
    body: `Everything that \`import … from '${entry.name}'\` has.\n\n${table(['export', 'kind', 'what it is'], rows)}`,
  };
  const pages = all.map(({ one, shown }): Page => {
    const elsewhere = one === shown ? undefined : sources.places.get(shown.id);
    const body = elsewhere === undefined ? exportBody(sources, entry, shown) : elsewhereBody(sources, elsewhere, shown);
    return {
      slug: slugOf(entry, one),
      title: one.name,
      description: firstSentence(summaryOf(shown)),
      body: `${body}\n\n${factsOf(sources, entry, one.name)}`,
    };
  });
  return [list, ...pages];
}

/** What is on the page of an export that an earlier entry has, too. */
function elsewhereBody({ target }: Sources, slug: string, shown: Reflection): string {
  const entry = slug.split('/').slice(1, -1).join('/');
  return `${summaryOf(shown)}\n\nThis is [\`${shown.name}\` of \`${entry}\`](${addressOf(slug, target)}), exported here as well.`;
}

/** What is on the page of an export that no earlier entry has. */
function exportBody({ released }: Sources, { name, file, exports }: Entry, shown: Reflection): string {
  const declaration = exports.get(shown.name) ?? declarationIn(file, shown.name);
  const lines = released.get(`${name}: ${shown.name}`) ?? [];
  const text =
    lines.length > 0 && !lines[0]!.startsWith('The same as')
      ? lines.join('\n')
      : (declaration?.nodes ?? []).map((node) => sourceText(declaration!.file, node)).join('\n');
  return [
    summaryOf(shown),
    `\`\`\`ts\n${shortened(text)}\n\`\`\``,
    membersText(shown),
    throwsText(shown),
    ...examplesOf(shown).map((example) => `## Example\n\n${example.includes('```') ? example : `\`\`\`ts\n${example}\n\`\`\``}`),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** How an export is imported, since which version, and where its source is. */
function factsOf({ root, target, version, released }: Sources, entry: Entry, name: string): string {
  const declaration = entry.exports.get(name);
  if (declaration === undefined) throw new Error(`"${entry.name}" exports no "${name}"`);
  const since = released.has(`${entry.name}: ${name}`) ? version : 'next';
  const source = declaration.file.replace(/^dist\//, '').replace(/\.d\.ts$/, '.ts');
  const lines = readFileSync(`${root}/${source}`, 'utf8').split('\n');
  const line = lines.findIndex((text) => new RegExp(`\\b(?:interface|class|type|function|const)\\s+${declaration.name}\\b`).test(text)) + 1;
  return `\`import { ${name} } from '${entry.name}'\` · since ${since} · [source](${target.repository}/blob/${target.ref}/${source}${line === 0 ? '' : `#L${line}`})`;
}

function membersText({ children = [], kind }: Reflection): string {
  if (children.length === 0) return '';
  const shown = children.filter(({ name }) => !name.startsWith('['));
  const methods = shown.filter((one) => one.kind === KIND.method || one.kind === KIND.constructor);
  const values = shown.filter((one) => !methods.includes(one));
  const rows = values.map((one) => {
    const summary = summaryOf(one);
    const name = `\`${one.name}${one.flags.isOptional === true ? '?' : ''}\``;
    return [name, code(typeText(one.type ?? one.getSignature?.type)), defaultOf(summary), summary];
  });
  const heading = kind === KIND.class ? 'Properties' : 'Members';
  const members = rows.length === 0 ? '' : `## ${heading}\n\n${table(['name', 'type', 'default', 'meaning'], rows)}`;
  const parts = methods.map((one) => {
    const signatures = (one.signatures ?? []).map(
      (signature) => `${one.name === 'constructor' ? 'new' : one.name}${functionText(signature, ': ')}`,
    );
    return `### ${one.name}\n\n\`\`\`ts\n${shortened(signatures.join('\n'))}\n\`\`\`\n\n${summaryOf(one)}`;
  });
  return [members, parts.length === 0 ? '' : `## Methods\n\n${parts.join('\n\n')}`].filter((part) => part !== '').join('\n\n');
}

/** The sentences of a comment that name errors. */
function throwsText(shown: Reflection): string {
  const found = sentences(summaryOf(shown)).filter((sentence) => /\b(?:Throws|Rejects|Refuses)\b/.test(sentence));
  return found.length === 0 ? '' : `## Errors\n\n${found.map((sentence) => `- ${sentence}`).join('\n')}`;
}

function defaultOf(summary: string): string {
  const [, value = ''] = /\bDefault:? ([^.]*(?:\.\d+[^.]*)?)\./.exec(`${summary}.`) ?? [];
  return value;
}

function kindOf({ kind }: Reflection): string {
  return (
    Object.entries(KIND)
      .find(([, number]) => number === kind)?.[0]
      .replace('alias', 'type') ?? ''
  );
}

function sentences(text: string): string[] {
  return text.replaceAll('\n', ' ').split(/(?<=\.)\s+(?=[A-Z`"])/);
}

function firstSentence(text: string): string {
  return sentences(text)[0] ?? '';
}

function code(text: string): string {
  const short = text.length > 300 ? `${text.slice(0, 300)}…` : text;
  return `<code>${short.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('|', '&#124;').replaceAll('{', '&#123;').replaceAll('`', '&#96;').replaceAll('*', '&#42;').replaceAll('_', '&#95;').replaceAll('[', '&#91;')}</code>`;
}

/** A signature of more lines than anybody reads is cut: the source has it whole. */
function shortened(text: string): string {
  const lines = text.split('\n');
  return lines.length > 120 ? [...lines.slice(0, 120), '// …'].join('\n') : text;
}
