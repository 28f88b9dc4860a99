import { existsSync, readFileSync } from 'node:fs';
import { blocksOf, RELEASED } from '../../test/docs/api-report.ts';
import { declarationIn, packageEntries, textOf as sourceText } from '../../test/docs/declarations.ts';
import { addressOf, type Page, type Target } from '../pages.ts';
import { examplesOf, functionText, KIND, type Reflection, summaryOf, typeText } from './typedoc.ts';

/** Returns one page for each export, and one for each entry with the list of its exports. */
export function apiPages(root: string, { json, target, version }: { json: string; target: Target; version: string }): Page[] {
  const project = JSON.parse(readFileSync(json, 'utf8')) as Reflection;
  const released = existsSync(`${root}/${RELEASED}`) ? blocksOf(readFileSync(`${root}/${RELEASED}`, 'utf8')) : new Map<string, string[]>();
  const entries = packageEntries();
  const places = new Map<number, string>();
  const modules = (project.children ?? []).map((module) => {
    const entry = entries.find(({ file }) => (module.sources?.[0]?.fileName ?? '').endsWith(file.replace(/^dist\//, '')))!;
    const folder = `reference/${entry.name}`;
    for (const one of module.children ?? []) if (one.variant !== 'reference') places.set(one.id, `${folder}/${one.name}`);
    return { module, entry, folder };
  });
  const byId = new Map(modules.flatMap(({ module }) => (module.children ?? []).map((one) => [one.id, one] as const)));
  return modules.flatMap(({ module, entry, folder }) => {
    const all = (module.children ?? []).map((one) => ({ one, shown: one.target === undefined ? one : (byId.get(one.target) ?? one) }));
    const rows = all.map(
      ({ one, shown }) =>
        `| [\`${one.name}\`](${addressOf(`${folder}/${one.name}`, target)}) | ${kindOf(shown)} | ${cell(firstSentence(summaryOf(shown)))} |`,
    );
    const list: Page = {
      slug: folder,
      title: entry.name,
      description: `Everything that ${entry.name} exports.`,
      body: `Everything that \`import … from '${entry.name}'\` has.\n\n| export | kind | what it is |\n| --- | --- | --- |\n${rows.join('\n')}`,
    };
    const pages = all.map(({ one, shown }): Page => {
      const since = released.has(`${entry.name}: ${one.name}`) ? version : 'next';
      const elsewhere = one === shown ? undefined : places.get(shown.id);
      const body =
        elsewhere === undefined
          ? exportBody(shown, entry.name)
          : `${summaryOf(shown)}\n\nThis is [\`${shown.name}\` of \`${elsewhere.split('/').slice(1, -1).join('/')}\`](${addressOf(elsewhere, target)}), exported here as well.`;
      return {
        slug: `${folder}/${one.name}`,
        title: one.name,
        description: firstSentence(summaryOf(shown)),
        body: `${body}\n\n${factsOf(one.name, entry.name, since)}`,
      };
    });
    return [list, ...pages];
  });

  /** What stands on the page of an export that is not exported elsewhere before. */
  function exportBody(shown: Reflection, entry: string): string {
    const { file } = entries.find(({ name }) => name === entry)!;
    const declaration = entries.find(({ name }) => name === entry)!.exports.get(shown.name) ?? declarationIn(file, shown.name);
    const lines = released.get(`${entry}: ${shown.name}`) ?? [];
    const text =
      lines.length > 0 && !lines[0]!.startsWith('The same as')
        ? lines.join('\n')
        : (declaration?.nodes ?? []).map((node) => sourceText(declaration!.file, node)).join('\n');
    const summary = summaryOf(shown);
    return [
      summary,
      `\`\`\`ts\n${shortened(text)}\n\`\`\``,
      membersText(shown),
      throwsText(shown),
      ...examplesOf(shown).map((example) => `## Example\n\n${example.includes('```') ? example : `\`\`\`ts\n${example}\n\`\`\``}`),
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  }

  function factsOf(name: string, entry: string, since: string): string {
    const declaration = entries.find((one) => one.name === entry)?.exports.get(name);
    if (declaration === undefined) throw new Error(`"${entry}" exports no "${name}"`);
    const source = declaration.file.replace(/^dist\//, '').replace(/\.d\.ts$/, '.ts');
    const lines = readFileSync(`${root}/${source}`, 'utf8').split('\n');
    const line =
      lines.findIndex((text) => new RegExp(`\\b(?:interface|class|type|function|const)\\s+${declaration.name}\\b`).test(text)) + 1;
    return `\`import { ${name} } from '${entry}'\` · since ${since} · [source](${target.repository}/blob/${target.ref}/${source}${line === 0 ? '' : `#L${line}`})`;
  }
}

function membersText({ children = [], kind }: Reflection): string {
  if (children.length === 0) return '';
  const shown = children.filter(({ name }) => !name.startsWith('['));
  const methods = shown.filter((one) => one.kind === KIND.method || one.kind === KIND.constructor);
  const values = shown.filter((one) => !methods.includes(one));
  const table =
    values.length === 0
      ? ''
      : `## ${kind === KIND.class ? 'Properties' : 'Members'}\n\n| name | type | default | meaning |\n| --- | --- | --- | --- |\n${values
          .map(
            (one) =>
              `| \`${one.name}${one.flags.isOptional === true ? '?' : ''}\` | ${code(typeText(one.type ?? one.getSignature?.type))} | ${defaultOf(summaryOf(one))} | ${cell(summaryOf(one))} |`,
          )
          .join('\n')}`;
  const parts = methods.map((one) => {
    const signatures = (one.signatures ?? []).map(
      (signature) => `${one.name === 'constructor' ? 'new' : one.name}${functionText(signature, ': ')}`,
    );
    return `### ${one.name}\n\n\`\`\`ts\n${shortened(signatures.join('\n'))}\n\`\`\`\n\n${summaryOf(one)}`;
  });
  return [table, parts.length === 0 ? '' : `## Methods\n\n${parts.join('\n\n')}`].filter((part) => part !== '').join('\n\n');
}

/** The sentences of a comment that name errors. */
function throwsText(shown: Reflection): string {
  const found = sentences(summaryOf(shown)).filter((sentence) => /\b(?:Throws|Rejects|Refuses)\b/.test(sentence));
  return found.length === 0 ? '' : `## Errors\n\n${found.map((sentence) => `- ${sentence}`).join('\n')}`;
}

function defaultOf(summary: string): string {
  const [, value = ''] = /\bDefault:? ([^.]*(?:\.\d+[^.]*)?)\./.exec(`${summary}.`) ?? [];
  return cell(value);
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

function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}

/** A signature of more lines than anybody reads is cut: the source has it whole. */
function shortened(text: string): string {
  const lines = text.split('\n');
  return lines.length > 120 ? [...lines.slice(0, 120), '// …'].join('\n') : text;
}
