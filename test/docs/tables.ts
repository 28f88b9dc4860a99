import { readFileSync } from 'node:fs';
import { COMMAND_GROUPS } from '../../src/cli/all-commands.ts';
import { type CommandDeclaration, type Declared, optionForm, SERVER_OPTIONS, type Table } from '../../src/cli/define-command.ts';
import { EXIT_CODES, exitCodeOfError } from '../../src/cli/exit-codes.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/core/domain/errors.ts';
import { AGENT_OPTIONS } from '../../src/define/define-agent.ts';
import { openapiDocument } from '../../src/server/openapi.ts';
import { httpStatusOf } from '../../src/server/problems.ts';
import { ENVIRONMENT } from './environment-variables.ts';
import { ERROR_ACTIONS } from './error-actions.ts';
import { ROUTES } from '../../src/server/routes/all-routes.ts';

/** The pages whose tables are made from the declarations of the product. */
export const PAGES = ['docs/cli.md', 'docs/http.md', 'docs/options.md', 'docs/errors.md'];

/** A table of a page: its name, and everything up to its end. */
const TABLE = /(<!-- table: ([^>]+) -->\n)[^]*?(<!-- end of table -->)/g;

/** Returns the page with its tables as the declarations have them now. Throws for the name of a table that nothing declares. */
export function withTables(page: string): string {
  return page.replaceAll(TABLE, (_, begin: string, name: string, end: string) => `${begin}\n${tableNamed(name)}\n\n${end}`);
}

/** The commands that the tables of a page name. */
export function commandsIn(page: string): string[] {
  return [...page.matchAll(TABLE)].flatMap(([, , name = '']) => (name.startsWith('longhaul ') ? commandNames(name) : []));
}

/** The commands that have options or arguments to describe. */
export function describedCommands(): string[] {
  return [...declarations().values()].filter(({ options = {} }) => Object.keys(options).length > 0).map(({ name }) => name);
}

function tableNamed(name: string): string {
  switch (name) {
    case 'options of all commands':
      return table(['option', 'meaning'], optionRows(SERVER_OPTIONS));
    case 'exit codes':
      return table(
        ['code', 'meaning'],
        Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning]),
      );
    case 'options of defineAgent':
      return table(
        ['option', 'type', 'default', 'meaning'],
        Object.entries(AGENT_OPTIONS).map(([option, cells]) => [`\`${option}\``, ...cells]),
      );
    case 'environment variables':
      return environmentTable(Object.values(ENVIRONMENT));
    case 'errors':
      return errorSections();
    case 'query parameters':
      return table(['route', 'parameter', 'meaning'], queryRows());
    default:
      return name.startsWith('longhaul ') ? commandTable(commandNames(name)) : table(['option', 'meaning'], memberRows(name));
  }
}

/** Returns a section for each error: its heading is the anchor that messages and problems name. */
function errorSections(): string {
  return Object.entries(ERROR_CODES)
    .map(([name, { retryable, description }]) => {
      const code = name as ErrorCode;
      const retried = retryable ? 'yes' : 'no';
      const cells = [String(httpStatusOf(code)), String(exitCodeOfError(code)), retried, description, ERROR_ACTIONS[code]];
      return `## ${code}\n\n${table(['HTTP status', 'exit code', 'tried again', 'cause', 'action'], [cells])}`;
    })
    .join('\n\n');
}

/** Returns environment variables with their meaning. */
export function environmentTable(groups: readonly (typeof ENVIRONMENT)[string][]): string {
  const rows = groups.flatMap((variables) =>
    Object.entries(variables).map(([name, { meaning, without }]) => [`\`${name}\``, meaning, without]),
  );
  return table(['variable', 'meaning', 'without it'], rows);
}

/** Returns the names in `longhaul session show, session raise`. */
function commandNames(name: string): string[] {
  return name.replace(/^longhaul /, '').split(', ');
}

function declarations(): Map<string, CommandDeclaration> {
  return new Map(COMMAND_GROUPS.flatMap(({ commands }) => commands.map(({ declaration }) => [declaration.name, declaration])));
}

/** Returns the table of a command, or of several. Options of several follow the last word of their command. */
function commandTable(names: readonly string[]): string {
  const known = declarations();
  const rows = names.flatMap((name) => {
    const declaration = known.get(name);
    if (declaration === undefined) throw new Error(`There is no command "${name}"`);
    const { args = {}, options = {} } = declaration;
    const prefix = names.length === 1 ? '' : `${name.split(' ').at(-1)} `;
    return [...Object.values(args).map((one) => row(`${prefix}${one.operand}`, one)), ...optionRows(options, prefix)];
  });
  return table(['argument or option', 'meaning'], rows);
}

function optionRows(options: Table, prefix = ''): string[][] {
  return Object.entries(options).map(([name, declared]) => row(`${prefix}${optionForm(name, declared)}`, declared));
}

function row(form: string, { meaning, choices, default: otherwise, required, manual }: Declared): string[] {
  const facts = [
    ...(required ? ['Required'] : []),
    ...(choices === undefined ? [] : [`One of ${choices.map((choice) => `\`${choice}\``).join(', ')}`]),
    ...(otherwise === undefined ? [] : [`Default: ${otherwise}`]),
    ...(manual === undefined ? [] : [manual]),
  ];
  return [`\`${form}\``, [meaning.replaceAll(LITERAL, (literal) => `\`${literal}\``), ...facts].join('. ')];
}

/** What the help says literally: flags, `<bytes>` (which Markdown would take for a tag), JSON, addresses, variables and routes. */
const LITERAL =
  /(?<![\w-])--[a-z][a-z-]*|[\w=-]*<[^>]+>|'?\[?\{".*\}\]?'?|(?:https?|redis):\/\/[^\s,;)]*[^\s,;).]|\b[A-Z]+(?:_[A-Z]+)+\b|\/(?:api|readyz)\b/g;

/** Returns the members of a type, as in `HandlerOptions in src/server/server-options.ts`, with their doc comments. */
function memberRows(name: string): string[][] {
  const [type = '', file = ''] = name.split(' in ');
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const [, body = ''] = new RegExp(`^export interface ${type} \\{\\n([^]*?)^\\}`, 'm').exec(source) ?? [];
  const rows = [...body.matchAll(/^ {2}(?:\/\*\*([^]*?)\*\/\n {2})?(\w+)\??:/gm)].map(([, comment = '', member = '']) => [
    `\`${member}\``,
    cellOf(comment),
  ]);
  if (rows.length === 0) throw new Error(`There is no type "${type}" in "${file}"`);
  const bare = rows.find(([, meaning]) => meaning === '');
  if (bare !== undefined) throw new Error(`${type}: ${bare[0]} has no doc comment`);
  return rows;
}

/** Returns a doc comment as one cell, with links to the pages that it names. */
function cellOf(comment: string): string {
  return comment
    .replaceAll(/\s*\n\s*\*\s?/g, ' ')
    .trim()
    .replace(/\.$/, '')
    .replaceAll(/\bdocs\/([\w-]+\.md)(#[\w-]+)?/g, '[$1]($1$2)');
}

interface Operation {
  parameters?: { name: string; in: string; description?: string; schema: { enum?: readonly string[] } }[];
}

/** Returns the query parameters of all routes, from the schemas that check their requests. */
function queryRows(): string[][] {
  const { paths } = openapiDocument(ROUTES, '') as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [] }]) =>
      parameters
        .filter((parameter) => parameter.in === 'query')
        .map(({ name, description, schema }, index) => [
          index === 0 ? `\`${method.toUpperCase()} ${path}\`` : '',
          `\`${name}\``,
          description?.replace(/\.$/, '') ?? valuesText(name, schema),
        ]),
    ),
  );
}

/** The description of a parameter whose name says the rest. */
function valuesText(name: string, { enum: values }: { enum?: readonly string[] }): string {
  return values === undefined ? `Only this ${name}` : `One of ${values.map((one) => `\`${one}\``).join(', ')}`;
}

/** Returns a table in Markdown. A cell has one line. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [
    header,
    header.map(() => '---'),
    ...rows.map((cells) => cells.map((cell) => cell.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|'))),
  ]
    .map((cells) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |'))
    .join('\n');
}
