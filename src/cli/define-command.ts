import { Argument, type Command as Parser, type Help, Option as ParserOption } from 'commander';
import type { Output } from './output.ts';
import type { Terminal } from './terminal.ts';

/** The declaration of an option or an argument, apart from its operand and its meaning. */
interface Details {
  /** The letter of its short form. */
  short?: string;
  /** Parses the value; throws an InvalidArgumentError that says what to write. `before`: the value so far of a repeatable option. */
  read?: (text: string, before: never) => unknown;
  choices?: readonly string[];
  default?: string | number;
  required?: true;
  /** Further text only for the manual (Markdown). */
  manual?: string;
}

/** An option or an argument of a command. `always`: each call has a value, so the type of the flags has no `undefined`. */
export interface Declared<Value = unknown, Always extends boolean = boolean> extends Details {
  /** `<file>`, or `[tool]` if it may be left out. Absent: a switch. */
  operand?: string;
  meaning: string;
  /** A switch that is on by default: `--no-http` turns `http` off. */
  negated?: true;
  always: Always;
  /** Only the compiler reads it. */
  value?: Value;
}

/** Options or arguments by flag name: `inputJson` is `--input-json`. */
export type Table = Readonly<Record<string, Declared>>;

type Read<Given> = Given extends { read: (text: string, before: never) => infer Value }
  ? Value
  : Given extends { choices: readonly (infer Choice)[] }
    ? Choice
    : string;
type OptionValue<Operand, Given> = Operand extends `[${string}` ? Read<Given> | true : Read<Given>;
type IsAlways<Given> = Given extends { required: true } | { default: unknown } ? true : false;

/** Declares an option with a value: a text, one of the `choices`, or what `read` returns for the text. */
export function option<const Operand extends string, const Given extends Details = Details>(
  operand: Operand,
  meaning: string,
  details?: Given,
): Declared<OptionValue<Operand, Given>, IsAlways<Given>> {
  const always = details?.required === true || details?.default !== undefined;
  return { operand, meaning, ...details, always: always as IsAlways<Given> };
}

/** Declares a switch. */
export function flag(meaning: string, details?: Pick<Details, 'short' | 'manual'>): Declared<boolean, false> {
  return { meaning, ...details, always: false };
}

/** Declares a switch that is on by default: the flag `http` is turned off by `--no-http`, which has this meaning. */
export function offSwitch(meaning: string, details?: Pick<Details, 'manual'>): Declared<boolean, true> {
  return { meaning, negated: true, ...details, always: true };
}

type ArgumentValue<Operand> = Operand extends `${string}...]` ? string[] : string;
type IsGiven<Operand> = Operand extends `[${string}` ? (Operand extends `${string}...]` ? true : false) : true;

/** Declares an argument: `<run>`, `[call]`, `[histories...]`. */
export function argument<const Operand extends string>(
  operand: Operand,
  meaning: string,
  details?: Pick<Details, 'manual'>,
): Declared<ArgumentValue<Operand>, IsGiven<Operand>> {
  return { operand, meaning, ...details, always: (operand.startsWith('<') || operand.endsWith('...]')) as IsGiven<Operand> };
}

type ValueOf<One> = One extends Declared<infer Value> ? Value : never;

/** The values that a call has for a table. */
export type Values<Of extends Table> = {
  [Name in keyof Of as Of[Name] extends Declared<unknown, true> ? Name : never]: ValueOf<Of[Name]>;
} & { [Name in keyof Of as Of[Name] extends Declared<unknown, true> ? never : Name]?: ValueOf<Of[Name]> };

/** The options that every command has. */
export const SERVER_OPTIONS = {
  address: option(
    '<host:port>',
    'the Temporal server (default: TEMPORAL_ADDRESS, then the profile of the Temporal CLI, then localhost:7233)',
  ),
  namespace: option('<name>', 'its namespace (default: TEMPORAL_NAMESPACE, then the profile, then "default")'),
  taskQueue: option('<name>', 'the task queue of runs and workers (default: "longhaul")'),
  tenant: option('<name>', 'act for this tenant: reach only its runs, and start new ones for it (default: LONGHAUL_TENANT)', {
    manual: 'Without a tenant and a user, all runs are reached. See [principals.md](principals.md)',
  }),
  user: option('<name>', 'act for this user, in the same way (default: LONGHAUL_USER)'),
  codec: option(
    '<parts>',
    'the encoding of payloads: compression, compression=<bytes>, encryption, separated by commas (default: LONGHAUL_CODEC)',
    { manual: 'If `LONGHAUL_ENCRYPTION_KEYS` is set, everything is encrypted: see [codec.md](codec.md)' },
  ),
  json: flag('print JSON for machines: one value on stdout, or one value per line for lists'),
} as const;

export type ServerFlags = Values<typeof SERVER_OPTIONS>;

/** A command as data: its arguments and options, and its texts for help and manual. */
export interface CommandDeclaration<Args extends Table = Table, Options extends Table = Table> {
  /** The words after `longhaul`: `start`, `session show`. */
  name: string;
  /** One line, for the list of commands. */
  summary: string;
  description: string;
  args?: Args;
  options?: Options;
  /** The text of the help after the options. */
  notes?: string;
}

/** Declares a command. Parsing, checks, help and the table of the manual follow from it; the compiler infers its flags. */
export function defineCommand<const Args extends Table = Table, const Options extends Table = Table>(
  declaration: CommandDeclaration<Args, Options>,
): CommandDeclaration<Args, Options> {
  return declaration;
}

/** The arguments and options that the code of a command receives. */
export type FlagsOf<Command> =
  Command extends CommandDeclaration<infer Args, infer Options> ? ServerFlags & KnownValues<Args> & KnownValues<Options> : never;

/** The values of a table; none for a command without one. */
type KnownValues<Of extends Table> = string extends keyof Of ? unknown : Values<Of>;

/** The terminal and the output of a command. */
export interface CommandIo {
  terminal: Terminal;
  output: Output;
  /** The parser of all commands, for commands about the command line itself. */
  parser?: Parser;
}

/** The code of a command: does the work and returns the exit code. Throws errors that the user can act on. */
type CommandAction<Flags> = (io: CommandIo, flags: Flags) => Promise<number>;

/** A command with its code, which may be large: it is loaded only when the command is called. */
export interface BoundCommand {
  declaration: CommandDeclaration;
  load: () => Promise<CommandAction<never>>;
}

/** Binds a declaration to its code. The compiler compares the flags that the code takes with those that are declared. */
export function bind<Args extends Table, Options extends Table>(
  declaration: CommandDeclaration<Args, Options>,
  load: () => Promise<CommandAction<FlagsOf<CommandDeclaration<Args, Options>>>>,
): BoundCommand {
  return { declaration, load };
}

/** Adds a declared command to its parent's parser. `run` is called with its code and the flags of a call. */
export function addCommand(
  parent: Parser,
  { declaration, load }: BoundCommand,
  run: (load: BoundCommand['load'], flags: ServerFlags) => Promise<void>,
): void {
  const { name, summary, description, args = {}, options = {}, notes } = declaration;
  const parser = parent.command(name.split(' ').at(-1) ?? name);
  parser.summary(summary).description(description);
  for (const [, { operand = '', meaning }] of Object.entries(args)) parser.addArgument(new Argument(operand, meaning));
  addOptions(parser, options);
  if (notes !== undefined) parser.addHelpText('after', () => `\n${wrapped(notes, helpOf(parser))}`);
  const names = Object.keys(args);
  parser.action(async (...given: unknown[]) => {
    const values = names.flatMap((key, index) => (given[index] === undefined ? [] : [[key, given[index]] as const]));
    await run(load, { ...parser.optsWithGlobals<ServerFlags>(), ...Object.fromEntries(values) });
  });
}

/** Returns the help formatter of a parser, for the text after its options. */
export function helpOf(parser: Parser): Help {
  return Object.assign(parser.createHelp(), { helpWidth: parser.configureOutput().getOutHelpWidth?.() });
}

function wrapped(text: string, help: Help): string {
  return help.boxWrap(text, help.helpWidth ?? 80);
}

/** Adds the options of a table to a parser in order. */
export function addOptions(parser: Parser, options: Table): void {
  for (const [name, declared] of Object.entries(options)) {
    const { meaning, read, choices, default: otherwise, required } = declared;
    const parsed = new ParserOption(optionForm(name, declared), meaning);
    if (choices !== undefined) parsed.choices(choices);
    if (read !== undefined) parsed.argParser(read as (text: string, before: unknown) => unknown);
    if (otherwise !== undefined) parsed.default(otherwise);
    if (required) parsed.makeOptionMandatory();
    parser.addOption(parsed);
  }
}

/** Returns the name of an option as it is written: `payload-store` for `payloadStore`. */
export function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns the written form of an option: `-a, --agents <module>`, `--no-http`. */
export function optionForm(name: string, { short, operand, negated }: Declared): string {
  const long = `--${negated ? 'no-' : ''}${dashed(name)}`;
  return `${short === undefined ? '' : `-${short}, `}${long}${operand === undefined ? '' : ` ${operand}`}`;
}
