import { globSync, readFileSync } from 'node:fs';
import { ENVIRONMENT, variablesInCode } from '../../test/docs/environment-variables.ts';
import { ERROR_ACTIONS } from '../../test/docs/error-actions.ts';
import { COMMAND_GROUPS } from '../../src/cli/all-commands.ts';
import { type Declared, optionForm, SERVER_OPTIONS, type Table } from '../../src/cli/define-command.ts';
import { EXIT_CODES, exitCodeOfError } from '../../src/cli/exit-codes.ts';
import { DEFAULT_POLICY } from '../../src/core/domain/agent.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/byte-budgets.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/core/domain/errors.ts';
import { DEFAULT_SESSION_LIMITS, DEFAULT_TREE_LIMITS } from '../../src/core/domain/limits.ts';
import { SEARCH_ATTRIBUTE_TYPES, SEARCH_ATTRIBUTES } from '../../src/core/protocol.ts';
import { openapiDocument } from '../../src/server/openapi.ts';
import { httpStatusOf } from '../../src/server/problems.ts';
import { ROUTES } from '../../src/server/routes/all-routes.ts';
import { INSTRUMENTS } from '../../src/telemetry/metrics.ts';
import { METRICS } from '../../src/telemetry/names.ts';
import { environmentTable, table } from '../../test/docs/tables.ts';
import { recordedLabels } from './recorded-labels.ts';
import { addressOf, type Page, type Target } from '../pages.ts';

/** Returns the pages that are made of what runs: commands, routes, errors, variables, metrics, search attributes, limits. */
export function factPages(root: string, target: Target): Page[] {
  return [
    ...commandPages(target),
    page('reference/http-routes', 'HTTP routes', 'Every route of the HTTP service, from its OpenAPI document.', routes()),
    page(
      'reference/error-codes',
      'Error codes',
      'Every code of an error: its HTTP status, the exit code of a command, its cause, and what to do.',
      errors(target),
    ),
    page(
      'reference/environment-variables',
      'Environment variables',
      'Every variable of the environment that Longhaul reads.',
      variables(target),
    ),
    page('reference/metrics', 'Metrics', 'Every metric of a worker and of the HTTP service.', metrics()),
    page('reference/search-attributes', 'Search attributes', 'The search attributes of runs in Temporal.', searchAttributes(root)),
    page(
      'reference/byte-limits',
      'Limits',
      'How large each part of a run may be, what else is bounded, and what holds if nothing is set.',
      limits(root),
    ),
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

function errors(target: Target): string {
  return table(
    ['code', 'HTTP', 'exit code', 'tried again', 'cause', 'action'],
    Object.entries(ERROR_CODES).map(([name, { retryable, description }]) => {
      const code = name as ErrorCode;
      const action = ERROR_ACTIONS[code].replaceAll(/\]\(([\w-]+)\.md/g, (_, linked: string) => `](${addressOf(linked, target)}`);
      return [
        `[\`${code}\`](${addressOf('errors', target)}#${code})`,
        String(httpStatusOf(code)),
        String(exitCodeOfError(code)),
        retryable ? 'yes' : 'no',
        escapeTags(description),
        action,
      ];
    }),
  );
}

/** What each variable means, and the files that read it. */
function variables(target: Target): string {
  const files = variablesInCode();
  const groups = Object.entries(ENVIRONMENT).map(([heading, group]) => {
    const rows = environmentTable([group]).replaceAll(/\]\(([\w-]+)\.md\)/g, (_, name: string) => `](${addressOf(name, target)})`);
    return `## ${heading}\n\n${rows}`;
  });
  const places = [...files]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, found]) => [`\`${name}\``, found.map((file) => `[${file}](${target.repository}/blob/${target.ref}/${file})`).join(', ')]);
  return `${groups.join('\n\n')}\n\n## Where each is read\n\n${table(['variable', 'files'], places)}`;
}

function metrics(): string {
  const labels = recordedLabels();
  return table(
    ['metric', 'kind', 'unit', 'meaning', 'labels'],
    Object.entries(METRICS).map(([name, metric]) => {
      const { kind, unit = '', description } = INSTRUMENTS[name as keyof typeof METRICS];
      return [
        `\`${metric}\``,
        kind,
        unit.replaceAll(/[{}]/g, ''),
        description,
        (labels.get(metric) ?? []).map((label) => `\`${label}\``).join(', '),
      ];
    }),
  );
}

function searchAttributes(root: string): string {
  const comments = commentsIn(readFileSync(`${root}/src/core/protocol.ts`, 'utf8'));
  return table(
    ['attribute', 'type', 'what it holds'],
    Object.entries(SEARCH_ATTRIBUTES).map(([name, attribute]) => [
      `\`${attribute}\``,
      SEARCH_ATTRIBUTE_TYPES[attribute],
      comments.get(name) ?? '',
    ]),
  );
}

function limits(root: string): string {
  const comments = commentsIn(readFileSync(`${root}/src/core/domain/byte-budgets.ts`, 'utf8'));
  const budgets = Object.entries(BYTE_BUDGETS).map(([name, bytes]) => [
    `\`${name}\``,
    bytes.toLocaleString('en'),
    comments.get(name) ?? '',
  ]);
  return [
    `## Bytes\n\nIn bytes of JSON in UTF-8, before any codec.\n\n${table(['part', 'bytes', 'what it is'], budgets)}`,
    `## Other bounds\n\n${table(['bound', 'value', 'what it is'], constantsIn(root, /MAX|MOST/))}`,
    `## Defaults\n\n${table(['default', 'value', 'what it is'], [...constantsIn(root, /DEFAULT/), ...memberDefaults()])}`,
  ].join('\n\n');
}

type MembersOf<T> = { readonly [M in keyof T]: string };

/** What is set for tools, trees of runs and sessions that do not say otherwise. */
const POLICY: MembersOf<typeof DEFAULT_POLICY> = {
  timeoutMs: 'Of a tool: milliseconds that one attempt of a call may take.',
  localTimeoutMs: 'The same of a tool of the tier `local`.',
  maxAttempts: 'Of a tool: all attempts of a call, including the first one.',
  backoff: 'Of a tool: milliseconds between two attempts.',
  localBackoff: 'The same of a tool of the tier `local`.',
  modelRetries: 'Of a tool: times in a row that a call may ask the model to try again.',
};
const TREE: MembersOf<typeof DEFAULT_TREE_LIMITS> = {
  depth: 'Of an agent: ancestors of a run in its tree.',
  alive: 'Of an agent: children that one run may have alive.',
  perTree: 'Of an agent: runs of the whole tree, the root included.',
};
const SESSION: MembersOf<typeof DEFAULT_SESSION_LIMITS> = {
  turns: 'Of a session: turns.',
  totalTokens: 'Of a session: prompt and completion tokens of all turns together.',
  costUsd: 'Of a session: US dollars.',
  deadlineMs: 'Of a session: milliseconds from its start.',
};

function memberDefaults(): string[][] {
  return [
    ...memberRows('DEFAULT_POLICY', DEFAULT_POLICY, POLICY),
    ...memberRows('DEFAULT_TREE_LIMITS', DEFAULT_TREE_LIMITS, TREE),
    ...memberRows('DEFAULT_SESSION_LIMITS', DEFAULT_SESSION_LIMITS, SESSION),
  ];
}

function memberRows<T extends object>(name: string, defaults: T, meanings: MembersOf<T>): string[][] {
  return Object.keys(defaults).map((key) => {
    const member = key as keyof T & string;
    return [`\`${name}.${member}\``, defaultText(defaults[member]), meanings[member]];
  });
}

function defaultText(value: unknown): string {
  if (value === null) return 'no limit';
  if (typeof value === 'number') return value.toLocaleString('en');
  return Object.entries(value as Record<string, number>)
    .map(([name, number]) => `\`${name}\`: ${number.toLocaleString('en')}`)
    .join(', ');
}

/** Returns the doc comments of members, by their names. */
function commentsIn(source: string): Map<string, string> {
  const found = source.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\s*(\w+):/g);
  return new Map([...found].map(([, comment = '', name = '']) => [name, comment.replaceAll(/\s*\n\s*\*\s?/g, ' ').trim()]));
}

/** Returns the exported numbers of the core whose names begin like this, with their doc comments. */
function constantsIn(root: string, beginning: RegExp): string[][] {
  const files = globSync('src/core/**/*.ts', { cwd: root }).toSorted();
  return files.flatMap((file) =>
    [
      ...readFileSync(`${root}/${file}`, 'utf8').matchAll(
        /\/\*\*((?:(?!\*\/)[^])*)\*\/\nexport const ((MAX|MOST|DEFAULT)_\w+) = ([\d_]+);/g,
      ),
    ]
      .filter(([, , , word = '']) => beginning.test(word))
      .map(([, comment = '', name = '', , value = '']) => [
        `\`${name}\``,
        Number(value.replaceAll('_', '')).toLocaleString('en'),
        escapeTags(comment.replaceAll(/\s*\n\s*\*\s?/g, ' ').trim()),
      ]),
  );
}
