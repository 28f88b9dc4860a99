import { basename, dirname } from 'node:path';
import { parse } from 'yaml';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { DEFAULT_PRIORITY, type Skill } from '../../src/core/domain/skills/skill.ts';

/** A skill, or the reason why its text is none. */
export type ParsedSkill = { ok: true; skill: Skill } | { ok: false; problem: string };

/** The file with the instructions of a skill. */
export const SKILL_FILE = 'SKILL.md';

const UNNAMED = 'unnamed';

/** A line that separates the front matter from the text. */
const SEPARATOR = /^---[^\S\n]*$/m;

/**
 * Parses a skill: Markdown that may begin with front matter in YAML. Without a name there, it has that of its file, or of its folder if the
 * file is a `SKILL.md`. The rules are those of Nous (`nous-context-and-dependencies`).
 */
export function parseSkill(text: string, path?: string): ParsedSkill {
  const { yaml, body } = splitFrontMatter(text);
  const fields = yaml === undefined ? {} : parseFields(yaml);
  if (typeof fields === 'string') return { ok: false, problem: fields };
  const { name, description, tags, group, activation, allowed_tools: allowed, priority, model_override: model } = fields;
  return {
    ok: true,
    skill: {
      name: textOf(name) ?? nameOf(path),
      description: textOf(description) ?? '',
      tags: textsOf(tags) ?? [],
      ...(textOf(group) === undefined ? {} : { group: textOf(group) as string }),
      instructions: body.trim(),
      activation: activation === 'auto' ? 'auto' : 'manual',
      ...(textsOf(allowed) === undefined ? {} : { allowedTools: textsOf(allowed) as string[] }),
      priority: typeof priority === 'number' && Number.isFinite(priority) ? priority : DEFAULT_PRIORITY,
      ...(textOf(model) === undefined ? {} : { modelOverride: textOf(model) as string }),
    },
  };
}

/** Front matter is only at the very beginning: a rule line later in the text is none. */
function splitFrontMatter(text: string): { yaml?: string; body: string } {
  if (!/^---\r?\n/.test(text)) return { body: text };
  const end = SEPARATOR.exec(text.slice(3));
  if (end === null) return { body: text };
  const from = 3 + end.index;
  return { yaml: text.slice(3, from), body: text.slice(from + end[0].length) };
}

function parseFields(yaml: string): JsonObject | string {
  try {
    // A custom tag could make other values than JSON; many aliases of one another, a value of any size.
    const parsed: unknown = parse(yaml, { schema: 'core', maxAliasCount: 20, logLevel: 'error' }) ?? {};
    return isJsonObject(parsed) ? parsed : 'its front matter is not a list of fields: write "name: refunds"';
  } catch (error) {
    return `its front matter is not YAML: ${errorMessage(error).split('\n')[0]}`;
  }
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
