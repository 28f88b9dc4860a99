import { globSync, readFileSync } from 'node:fs';
import { COMMAND_GROUPS } from '../../src/cli/all-commands.ts';
import { type Declared, optionForm, SERVER_OPTIONS, type Table } from '../../src/cli/define-command.ts';
import { EXIT_CODES } from '../../src/cli/exit-codes.ts';
import { BYTE_BUDGETS, MAX_PAYLOAD_BYTES, MAX_QUEUED_MESSAGES } from '../../src/core/domain/byte-budgets.ts';
import { ERROR_CODES } from '../../src/core/domain/errors.ts';
import { SEARCH_ATTRIBUTE_TYPES, SEARCH_ATTRIBUTES } from '../../src/core/protocol-names.ts';
import { openapiDocument } from '../../src/server/openapi.ts';
import { ROUTES } from '../../src/server/routes/all-routes.ts';
import { METRICS } from '../../src/telemetry/names.ts';
import { table } from '../../test/docs/tables.ts';
import { addressOf, type Page, type Target } from '../pages.ts';

/** Returns the pages that are made of what runs: commands, routes, errors, variables, metrics, search attributes, limits. */
export function factPages(root: string, target: Target): Page[] {
  return [
    ...commandPages(target),
    page('reference/http-routes', 'HTTP routes', 'Every route of the HTTP service, from its OpenAPI document.', routes()),
    page('reference/error-codes', 'Error codes', 'Every code of an error, with its HTTP status, and whether it is tried again.', errors()),
    page(
      'reference/environment-variables',
      'Environment variables',
      'Every variable of the environment that Longhaul reads.',
      variables(root, target),
    ),
    page('reference/metrics', 'Metrics', 'Every metric of a worker and of the HTTP service.', metrics()),
    page('reference/search-attributes', 'Search attributes', 'The search attributes of runs in Temporal.', searchAttributes()),
    page('reference/byte-limits', 'Limits in bytes', 'How large each part of a run may be, in bytes of JSON.', limits(root)),
  ];
}

function page(slug: string, title: string, description: string, body: string): Page {
  return { slug, title, description, body: `${description}\n\n${body}` };
}

function commandPages(target: Target): Page[] {
  const groups = COMMAND_GROUPS.map(
    ({ heading, commands }) =>
      `## ${heading}\n\n${table(
        ['command', 'what it does'],
        commands.map(({ declaration: { name, summary } }) => [`[\`longhaul ${name}\`](${addressOf(slugOf(name), target)})`, summary]),
      )}`,
  );
  const exits = `## Exit codes\n\n${table(
    ['code', 'meaning'],
    Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning]),
  )}`;
  const server = `## Options of all commands\n\n${table(['option', 'meaning'], optionRows(SERVER_OPTIONS))}`;
  return [
    page('reference/commands', 'Commands', 'Every command of the command line.', [...groups, server, exits].join('\n\n')),
    ...COMMAND_GROUPS.flatMap(({ commands }) =>
      commands.map(({ declaration: { name, description, summary, args = {}, options = {} } }) => {
        const operands = Object.values(args).map(({ operand }) => operand);
        const rows = [...Object.values(args).map((one) => row(one.operand ?? '', one)), ...optionRows(options)];
        const text = description.trim();
        return {
          slug: slugOf(name),
          title: `longhaul ${name}`,
          description: summary,
          body: `\`\`\`text\nlonghaul ${[name, ...operands].join(' ')}${rows.length > operands.length ? ' [options]' : ''}\n\`\`\`\n\n${escapeTags(text)}\n\n${rows.length === 0 ? '' : table(['argument or option', 'meaning'], rows)}`,
        };
      }),
    ),
  ];
}

function slugOf(command: string): string {
  return `reference/commands/${command.replaceAll(' ', '-')}`;
}

function optionRows(options: Table): string[][] {
  return Object.entries(options).map(([name, declared]) => row(optionForm(name, declared), declared));
}

function row(form: string, { meaning, choices, default: otherwise, required }: Declared): string[] {
  const facts = [
    ...(required ? ['Required'] : []),
    ...(choices === undefined ? [] : [`One of ${choices.join(', ')}`]),
    ...(otherwise === undefined ? [] : [`Default: ${otherwise}`]),
  ];
  return [`\`${form}\``, [escapeTags(meaning), ...facts].join('. ')];
}

function escapeTags(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('{', '&#123;').replaceAll('*', '&#42;');
}

interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string }[];
  responses?: Record<string, unknown>;
}

function routes(): string {
  const { paths } = openapiDocument(ROUTES, '') as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { summary = '', description = '', parameters = [], responses = {} }]) =>
        [
          `## \`${method.toUpperCase()} ${path}\``,
          escapeTags(summary),
          escapeTags(description),
          parameters.length === 0
            ? ''
            : table(
                ['parameter', 'in', 'meaning'],
                parameters.map((one) => [`\`${one.name}\``, one.in, escapeTags(one.description ?? '')]),
              ),
          `Answers: ${Object.keys(responses).join(', ')}.`,
        ]
          .filter((part) => part !== '')
          .join('\n\n'),
      ),
    )
    .join('\n\n');
}

function errors(): string {
  return table(
    ['code', 'HTTP', 'tried again', 'meaning'],
    Object.entries(ERROR_CODES).map(([code, facts]) => {
      const { httpStatus = 500, retryable, description } = facts as { httpStatus?: number; retryable: boolean; description: string };
      return [`\`${code}\``, String(httpStatus), retryable ? 'yes' : 'no', description];
    }),
  );
}

/** Finds the variables in the code that reads them, with the file that does. */
function variables(root: string, target: Target): string {
  const found = new Map<string, string>();
  for (const file of globSync('{src,worker,activities}/**/*.ts', { cwd: root }).toSorted()) {
    const text = readFileSync(`${root}/${file}`, 'utf8').replaceAll(/\/\*\*[^]*?\*\//g, '');
    for (const [, name = ''] of text.matchAll(
      /\benv(?:ironment)?\??\.?\[?'((?:LONGHAUL|TEMPORAL|OTEL|OPENAI|NO_COLOR|TERM|TMPDIR)[A-Z_]*)'/g,
    ))
      if (!found.has(name)) found.set(name, file);
    for (const [, name = ''] of text.matchAll(/'(LONGHAUL_[A-Z_]+)'/g)) if (!found.has(name)) found.set(name, file);
  }
  return table(
    ['variable', 'read in'],
    [...found]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, file]) => [`\`${name}\``, `[${file}](${target.repository}/blob/${target.ref}/${file})`]),
  );
}

function metrics(): string {
  return table(
    ['metric', 'name in the code'],
    Object.entries(METRICS).map(([name, metric]) => [`\`${metric}\``, name]),
  );
}

function searchAttributes(): string {
  return table(
    ['attribute', 'type', 'what it holds'],
    Object.entries(SEARCH_ATTRIBUTES).map(([name, attribute]) => [`\`${attribute}\``, SEARCH_ATTRIBUTE_TYPES[attribute], name]),
  );
}

function limits(root: string): string {
  const source = readFileSync(`${root}/src/core/domain/byte-budgets.ts`, 'utf8');
  const rows = Object.entries(BYTE_BUDGETS).map(([name, bytes]) => {
    const [, comment = ''] = new RegExp(`/\\*\\* ([^\\n]*) \\*/\\n  ${name}:`).exec(source) ?? [];
    return [`\`${name}\``, bytes.toLocaleString('en'), comment];
  });
  return `${table(['part', 'bytes', 'what it is'], rows)}\n\nA payload has at most ${MAX_PAYLOAD_BYTES.toLocaleString('en')} bytes, and a queue at most ${MAX_QUEUED_MESSAGES} messages.`;
}
