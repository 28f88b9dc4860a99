import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { factPages } from '../../site/reference/facts.ts';
import { COMMAND_GROUPS } from '../../src/cli/all-commands.ts';
import { optionForm } from '../../src/cli/define-command.ts';
import { EXIT_CODES } from '../../src/cli/exit-codes.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/byte-budgets.ts';
import { ERROR_CODES } from '../../src/core/domain/errors.ts';
import { SEARCH_ATTRIBUTE_TYPES } from '../../src/core/protocol.ts';
import { openapiDocument } from '../../src/server/openapi.ts';
import { ROUTES } from '../../src/server/routes/all-routes.ts';
import { METRICS } from '../../src/telemetry/names.ts';
import { variablesInCode } from '../docs/environment-variables.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = new Map(
  factPages(root, { base: '/next/', repository: 'https://example.com/longhaul', ref: 'v1' }).map(({ slug, body }) => [slug, body]),
);

function bodyOf(slug: string): string {
  const body = pages.get(slug);
  if (body === undefined) throw new Error(`There is no page "${slug}"`);
  return body;
}

/** The cells of each row of the tables of a page, by the text of the first one. */
function rowsOf(slug: string): Map<string, string[]> {
  const lines = bodyOf(slug)
    .split('\n')
    .filter((line) => line.startsWith('| '));
  return new Map(
    lines.map((line) => {
      const cells = line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [/`([^`]+)`/.exec(cells[0] ?? '')?.[1] ?? cells[0] ?? '', cells];
    }),
  );
}

/** Returns the names without a row, and those whose row has an empty cell at one of these places. */
function lacking(slug: string, names: readonly string[], filled: readonly number[]): string[] {
  const rows = rowsOf(slug);
  return names.filter((name) => filled.some((place) => (rows.get(name)?.[place] ?? '') === ''));
}

test('each command has a page with each of its arguments and options, as its parser has them', () => {
  const commands = COMMAND_GROUPS.flatMap((group) => group.commands.map(({ declaration }) => declaration));
  expect(commands.length).toBeGreaterThan(40);
  const lost = commands.flatMap(({ name, args = {}, options = {} }) => {
    const slug = `reference/commands/${name.replaceAll(' ', '-')}`;
    const forms = [
      ...Object.values(args).map(({ operand = '' }) => operand),
      ...Object.entries(options).map(([key, one]) => optionForm(key, one)),
    ];
    return pages.has(slug) ? lacking(slug, forms, [1]).map((form) => `${name} ${form}`) : [name];
  });
  expect(lost).toEqual([]);
  const list = bodyOf('reference/commands');
  for (const { name } of commands) expect(list).toContain(`[\`longhaul ${name}\`](`);
  for (const { code, meaning } of Object.values(EXIT_CODES)) expect(list).toContain(`| ${code} | ${meaning} |`);
});

test('each code of an error has its HTTP status, its exit code, whether it is retried, its cause and an action', () => {
  expect(lacking('reference/error-codes', Object.keys(ERROR_CODES), [1, 2, 3, 4, 5])).toEqual([]);
});

test('each route of the OpenAPI document has a part of the page, with its answers', () => {
  const { paths } = openapiDocument(ROUTES, '') as { paths: Record<string, Record<string, object>> };
  const body = bodyOf('reference/http-routes');
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.length).toBeGreaterThan(50);
  expect(routes.filter((route) => !body.includes(`## \`${route}\`\n`))).toEqual([]);
  expect(body.match(/^Answers: \d{3}/gm)).toHaveLength(routes.length);
});

test('each variable of the environment that the code reads has its meaning, and the files that read it', () => {
  const names = [...variablesInCode().keys()];
  expect(names.length).toBeGreaterThan(30);
  expect(lacking('reference/environment-variables', names, [1])).toEqual([]);
});

test('each metric has its kind and its meaning, each search attribute its type and its content', () => {
  expect(lacking('reference/metrics', Object.values(METRICS), [1, 3])).toEqual([]);
  expect(lacking('reference/search-attributes', Object.keys(SEARCH_ATTRIBUTE_TYPES), [1, 2])).toEqual([]);
});

test('each bound of bytes has its number and a description', () => {
  expect(lacking('reference/byte-limits', Object.keys(BYTE_BUDGETS), [1, 2])).toEqual([]);
});
