import { basename, dirname } from 'node:path';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { DEFAULT_PRIORITY, type Skill } from '../../src/core/domain/skills/skill.ts';

/** A skill, or the reason why its text is none. */
export type ParsedSkill =
  | { ok: true; skill: Skill; lines: ReadonlyMap<string, number>; isUnclosed: boolean }
  | { ok: false; problem: string };

/** The file with the instructions of a skill. */
export const SKILL_FILE = 'SKILL.md';

const UNNAMED = 'unnamed';

/** The line that begins the front matter, and the line that ends it. */
const BEGINNING = /^---[^\S\n]*\n/;
const SEPARATOR = /^---[^\S\n]*$/m;

/**
 * Parses a skill: Markdown that may begin with front matter in YAML. Without a name there, it has that of its file, or of its folder if the
 * file is a `SKILL.md`. The rules are those of Nous (`nous-context-and-dependencies`) and of the Agent Skills specification. Fields that
 * are not known are left out. `lines` has the line of each field in the file, from 1; `isUnclosed`: front matter begins, and does not end.
 */
export function parseSkill(content: string, path?: string): ParsedSkill {
  const text = content.replace(/^\ufeff/, '');
  const { yaml, body } = splitFrontMatter(text);
  const front = yaml === undefined ? { fields: {}, lines: new Map<string, number>() } : parseFields(yaml);
  if (typeof front === 'string') return { ok: false, problem: front };
  const { fields, lines } = front;
  const { name, description, tags, group, activation, priority, model_override: model } = fields;
  const allowed = allowedTools(fields);
  if (typeof allowed === 'string') return { ok: false, problem: allowed };
  return {
    ok: true,
    lines,
    isUnclosed: yaml === undefined && BEGINNING.test(text),
    skill: {
      name: textOf(name) ?? nameOf(path),
      description: textOf(description) ?? '',
      tags: textsOf(tags) ?? [],
      ...(textOf(group) === undefined ? {} : { group: textOf(group) as string }),
      source: 'file',
      ...(path === undefined ? {} : { path }),
      instructions: body.trim(),
      activation: activation === 'auto' ? 'auto' : 'manual',
      ...(allowed === undefined ? {} : { allowedTools: allowed }),
      priority: typeof priority === 'number' && Number.isFinite(priority) ? priority : DEFAULT_PRIORITY,
      ...(textOf(model) === undefined ? {} : { modelOverride: textOf(model) as string }),
    },
  };
}

/** Front matter is only at the very beginning: a rule line later in the text is none. */
function splitFrontMatter(text: string): { yaml?: string; body: string } {
  const beginning = BEGINNING.exec(text)?.[0];
  if (beginning === undefined) return { body: text };
  const rest = text.slice(beginning.length);
  const end = SEPARATOR.exec(rest);
  if (end === null) return { body: text };
  return { yaml: rest.slice(0, end.index), body: rest.slice(end.index + end[0].length) };
}

/** The line of a file on which its front matter begins. */
const FIRST_LINE = 2;

/** Returns the fields with their lines, or the problem of the front matter. */
function parseFields(yaml: string): { fields: JsonObject; lines: Map<string, number> } | string {
  const lineCounter = new LineCounter();
  const lineAt = (offset: number): number => lineCounter.linePos(offset).line + FIRST_LINE - 1;
  try {
    // A custom tag could make other values than JSON; many aliases of one another, a value of any size.
    const document = parseDocument(yaml, { schema: 'core', logLevel: 'error', lineCounter, prettyErrors: false });
    const [error] = document.errors;
    if (error !== undefined) return `its front matter is not YAML: line ${lineAt(error.pos[0])}: ${error.message}${hintFor(error.message)}`;
    const fields: unknown = document.toJS({ maxAliasCount: 20 }) ?? {};
    if (!isJsonObject(fields)) return 'its front matter is not a list of fields: write "name: refunds"';
    const items = isMap(document.contents) ? document.contents.items : [];
    const lines = items.flatMap(({ key }): [string, number][] =>
      isScalar(key) && key.range ? [[String(key.value), lineAt(key.range[0])]] : [],
    );
    return { fields, lines: new Map(lines) };
  } catch (error) {
    return `its front matter is not YAML: ${errorMessage(error).split('\n')[0]}`;
  }
}

/** Returns what to write in place of the mistake that most files with one have: a description with a colon in it. */
function hintFor(message: string): string {
  return /[Nn]ested mappings|[Ii]mplicit (?:map )?keys?/.test(message) ? '. Put a text with ": " in it in quotes' : '';
}

/**
 * Returns the tools that may be called while the skill is active: a list, or in `allowed-tools` a text as the Agent Skills
 * specification has it, with blanks or commas between the names. Returns a problem if both fields are given.
 */
function allowedTools({ allowed_tools: own, 'allowed-tools': specified }: JsonObject): string[] | string | undefined {
  if ((own ?? null) !== null && (specified ?? null) !== null) return 'it has both "allowed_tools" and "allowed-tools": leave one out';
  const allowed = own ?? specified ?? undefined;
  // A pattern such as `Bash(git add *)` is one name, which no tool has. In the Skills Guide, from which `allowed_tools` is, a text is no list.
  if (typeof specified === 'string') return specified.match(/[^\s,(]+(?:\([^()]*\))?/g) ?? [];
  return textsOf(allowed);
}

function nameOf(path: string | undefined): string {
  if (path === undefined) return UNNAMED;
  const file = basename(path);
  return file === SKILL_FILE ? basename(dirname(path)) || UNNAMED : file.replace(/\.[^.]+$/, '');
}

/** Returns a text as it is, and a number or a truth value as YAML writes it: `name: 2024` is a name too. */
function textOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value : undefined;
}

function textsOf(value: JsonValue | undefined): string[] | undefined {
  return Array.isArray(value) ? value.flatMap((one) => textOf(one) ?? []) : undefined;
}
