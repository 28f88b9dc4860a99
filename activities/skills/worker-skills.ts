import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { errorMessage, UsageError } from '../../src/core/domain/errors.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { DEFAULT_PRIORITY, type Skill } from '../../src/core/domain/skills.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { SkillSource } from '../../src/define/skills.ts';

/** A skill that the worker has read. */
export interface LoadedSkill extends RegisteredSkill {
  /** SHA-256 over the paths and contents of all files, as hex. */
  digest: string;
  /** The texts of the files by path. A binary file is null. */
  texts: Record<string, string | null>;
}

/** The maximum bytes of JSON of the instructions: the model reads them as one result, with a line or two about them. */
const MAX_INSTRUCTIONS_BYTES = BYTE_BUDGETS.toolResult - 8_000;

/** The maximum characters of a description, which every request contains, as in the Agent Skills specification. */
const MAX_DESCRIPTION = 1_024;

/** Names of the Agent Skills specification (letters, digits and single hyphens), and also those with `_`, `.` and capitals. */
const SKILL_NAME = /^(?!.*--)[\p{L}\p{N}_.](?:[\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}_.])?$/u;

/** The skills of the agents of a worker, read when the worker starts. */
export class WorkerSkills {
  readonly #byAgent = new Map<string, readonly LoadedSkill[]>();

  /** Throws a UsageError with path and rule for an unusable folder. */
  constructor(agents: readonly Pick<AnyAgent, 'name' | 'skills'>[]) {
    for (const { name, skills = [] } of agents) if (skills.length > 0) this.#byAgent.set(name, loadSkills(`agent "${name}"`, skills));
  }

  /** Returns the skills of an agent, all inactive. */
  of(agentName: string): SkillRegistry<LoadedSkill> {
    return new SkillRegistry(this.#byAgent.get(agentName));
  }
}

function loadSkills(owner: string, sources: readonly SkillSource[]): LoadedSkill[] {
  const skills = new Map<string, { skill: LoadedSkill; folder: string }>();
  for (const { path, match } of sources) {
    for (const read of readFolders(owner, path)) {
      const skill = { ...loadSkill(owner, read), ...defined({ match }) };
      const other = skills.get(skill.name);
      if (other !== undefined)
        throw unusablePath(owner, read.folder, `its name is "${skill.name}", the same as in ${other.folder}: give it another one`);
      skills.set(skill.name, { skill, folder: read.folder });
    }
  }
  return [...skills.values()].map(({ skill }) => skill);
}

function loadSkill(owner: string, { folder, files }: SkillFiles): LoadedSkill {
  const path = `${folder}/${SKILL_FILE}`;
  const texts = Object.fromEntries([...files].map(([name, content]) => [name, isUtf8(content) ? content.toString('utf8') : null]));
  const text = texts[SKILL_FILE];
  if (typeof text !== 'string') throw unusablePath(owner, path, 'it is not UTF-8 text');
  const parsed = parseSkill(text, path);
  if (!parsed.ok) throw unusablePath(owner, path, parsed.problem);
  const { lines, isUnclosed } = parsed;
  // The list has one line for each skill.
  const description = parsed.skill.description.replaceAll(/\s+/g, ' ').trim();
  const skill = { ...parsed.skill, description };
  const { name, instructions } = skill;
  const on = (field: string): string => (lines.has(field) ? ` (line ${lines.get(field)})` : '');
  if (isUnclosed) throw unusablePath(owner, path, 'its front matter does not end: write a line "---" below its fields');
  if (!SKILL_NAME.test(name)) {
    const rule = 'use up to 64 letters, digits, "_", "-" and ".", without "-" at an end and "--"';
    throw unusablePath(owner, path, `its name is ${JSON.stringify(name)}: ${rule}${on('name')}`);
  }
  if (description === '') {
    throw unusablePath(
      owner,
      path,
      `"description" is missing or empty${on('description')}: write a text that tells the model when to use the skill`,
    );
  }
  if (description.length > MAX_DESCRIPTION) {
    const length = `"description" has ${description.length} characters, more than ${MAX_DESCRIPTION}`;
    throw unusablePath(owner, path, `${length}: move a part of it below the front matter${on('description')}`);
  }
  const bytes = jsonBytes(instructions);
  if (bytes > MAX_INSTRUCTIONS_BYTES) {
    throw unusablePath(
      owner,
      path,
      `its text has ${bytes} bytes of JSON, more than ${MAX_INSTRUCTIONS_BYTES}: move parts of it to other files of the folder`,
    );
  }
  return { ...skill, digest: filesDigest(files), texts };
}

function filesDigest(files: ReadonlyMap<string, Buffer>): string {
  const hash = createHash('sha256');
  for (const [path, content] of files) hash.update(`${JSON.stringify(path)} ${createHash('sha256').update(content).digest('hex')}\n`);
  return hash.digest('hex');
}

/** A skill with the predicate for inputs that activate it. */
export interface RegisteredSkill extends Skill {
  match?: (input: string) => boolean;
}

/** The skills of an agent, by name, group and tag, and the active ones. The rules come from Nous (`nous-context-and-dependencies`). */
export class SkillRegistry<Registered extends RegisteredSkill = RegisteredSkill> {
  readonly #skills = new Map<string, Registered>();
  readonly #active = new Set<string>();

  constructor(skills: Iterable<Registered> = []) {
    for (const skill of skills) this.#skills.set(skill.name, skill);
  }

  /** Returns all skills, the lowest priority number first. */
  get all(): Registered[] {
    return byPriority([...this.#skills.values()]);
  }

  /** Returns the active skills, the lowest priority number first. */
  get active(): Registered[] {
    return this.all.filter(({ name }) => this.#active.has(name));
  }

  get(name: string): Registered | undefined {
    return this.#skills.get(name);
  }

  byGroup(group: string): Registered[] {
    return [...this.#skills.values()].filter((skill) => skill.group === group);
  }

  byTag(tag: string): Registered[] {
    return [...this.#skills.values()].filter(({ tags }) => tags.includes(tag));
  }

  /** Activates a skill. Does nothing for an unknown name. */
  activate(name: string): void {
    if (this.#skills.has(name)) this.#active.add(name);
  }

  deactivate(name: string): void {
    this.#active.delete(name);
  }

  activateGroup(group: string): void {
    for (const { name } of this.byGroup(group)) this.activate(name);
  }

  deactivateGroup(group: string): void {
    for (const { name } of this.byGroup(group)) this.deactivate(name);
  }

  /**
   * Returns the skills whose predicate is true for an input. Words of a description activate nothing. A predicate that throws counts as
   * false.
   */
  match(input: string): Registered[] {
    return this.all.filter(({ match }) => {
      try {
        return match?.(input) === true;
      } catch {
        return false;
      }
    });
  }
}

function byPriority<Registered extends Skill>(skills: Registered[]): Registered[] {
  return skills.toSorted((one, other) => one.priority - other.priority);
}

/** The bounds of folders of skills: the number of files in all of them, and the bytes of one file. */
const MAX_SKILL_FILES = 1_000;
const MAX_SKILL_FILE_BYTES = 5 * 1024 * 1024;

/** The files of one skill by their path in its folder, with `/` between the names. */
interface SkillFiles {
  /** The path of the folder, for messages. */
  folder: string;
  files: Map<string, Buffer>;
}

/**
 * Reads the skills below a path: the folder itself if it has a `SKILL.md`, otherwise all folders below it that have one. Symbolic links are
 * not followed, and not part of a skill. Throws a UsageError with the path and the rule if there are none, or a file is too large.
 */
function readFolders(owner: string, path: string): SkillFiles[] {
  const root = resolve(path.startsWith('file:') ? fileURLToPath(path) : path);
  const paths = filesBelow(owner, root);
  const folders = paths.filter((file) => file.endsWith(`${sep}${SKILL_FILE}`)).map((file) => file.slice(0, -SKILL_FILE.length - 1));
  // A skill inside another skill's folder belongs to that one.
  const outermost = folders.filter((folder) => !folders.some((other) => other !== folder && folder.startsWith(other + sep)));
  if (outermost.length === 0) throw unusablePath(owner, root, `it has no ${SKILL_FILE}, and neither has a folder in it`);
  return outermost.toSorted().map((folder) => ({
    folder,
    files: new Map(
      paths
        .filter((file) => file.startsWith(folder + sep))
        .map((file): [string, Buffer] => [relative(folder, file).split(sep).join('/'), readSkillFile(owner, file)])
        .toSorted(([one], [other]) => (one < other ? -1 : 1)),
    ),
  }));
}

function filesBelow(owner: string, root: string): string[] {
  const files: string[] = [];
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(owner, folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) files.push(path);
      if (files.length > MAX_SKILL_FILES) throw unusablePath(owner, root, `it has more than ${MAX_SKILL_FILES} files`);
    }
  }
  return files;
}

function entriesOf(owner: string, folder: string): { name: string; isDirectory(): boolean; isFile(): boolean }[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    throw unusablePath(owner, folder, `it cannot be read as a folder: ${errorMessage(error)}`);
  }
}

function readSkillFile(owner: string, file: string): Buffer {
  const { size } = lstatSync(file);
  if (size > MAX_SKILL_FILE_BYTES) throw unusablePath(owner, file, `it has ${size} bytes, more than ${MAX_SKILL_FILE_BYTES}`);
  return readFileSync(file);
}

/** Returns the error for an unusable path of `skills`. */
function unusablePath(owner: string, path: string, problem: string): UsageError {
  return new UsageError(`${owner}: "skills": ${path}: ${problem}`);
}

/** A skill, or the reason why its text is invalid. */
type ParsedSkill = { ok: true; skill: Skill; lines: ReadonlyMap<string, number>; isUnclosed: boolean } | { ok: false; problem: string };

/** The file with the instructions of a skill. */
export const SKILL_FILE = 'SKILL.md';

const UNNAMED = 'unnamed';

/** The line that begins the front matter, and the line that ends it. */
const BEGINNING = /^---[^\S\n]*\n/;
const SEPARATOR = /^---[^\S\n]*$/m;

/**
 * Parses a skill: Markdown that may begin with front matter in YAML. Without a name there, it is named after its file, or its folder if the
 * file is a `SKILL.md`. The rules come from Nous (`nous-context-and-dependencies`) and the Agent Skills specification. Unknown fields are
 * left out. `lines` has the line of each field in the file, from 1; `isUnclosed`: front matter begins but does not end.
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
      name: scalarText(name) ?? nameOf(path),
      description: scalarText(description) ?? '',
      tags: scalarTexts(tags) ?? [],
      ...(scalarText(group) === undefined ? {} : { group: scalarText(group) as string }),
      source: 'file',
      ...defined({ path }),
      instructions: body.trim(),
      activation: activation === 'auto' ? 'auto' : 'manual',
      ...defined({ allowedTools: allowed }),
      priority: typeof priority === 'number' && Number.isFinite(priority) ? priority : DEFAULT_PRIORITY,
      ...(scalarText(model) === undefined ? {} : { modelOverride: scalarText(model) as string }),
    },
  };
}

/** Front matter is only at the very beginning: a later rule line does not start it. */
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
    // A custom tag could create values other than JSON, and nested aliases a value of any size.
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

/** Returns a hint for the most common mistake: a description with a colon in it. */
function hintFor(message: string): string {
  return /[Nn]ested mappings|[Ii]mplicit (?:map )?keys?/.test(message) ? '. Put a text with ": " in it in quotes' : '';
}

/**
 * Returns the tools that may be called while the skill is active: a list, or in `allowed-tools`, as in the Agent Skills specification, a
 * text with blanks or commas between the names. Returns a problem if both fields are given.
 */
function allowedTools({ allowed_tools: own, 'allowed-tools': specified }: JsonObject): string[] | string | undefined {
  if ((own ?? null) !== null && (specified ?? null) !== null) return 'it has both "allowed_tools" and "allowed-tools": leave one out';
  const allowed = own ?? specified ?? undefined;
  // A pattern such as `Bash(git add *)` is one name, which no tool has. In the Skills Guide, where `allowed_tools` comes from, a text is
  // not a list.
  if (typeof specified === 'string') return specified.match(/[^\s,(]+(?:\([^()]*\))?/g) ?? [];
  return scalarTexts(allowed);
}

function nameOf(path: string | undefined): string {
  if (path === undefined) return UNNAMED;
  const file = basename(path);
  return file === SKILL_FILE ? basename(dirname(path)) || UNNAMED : file.replace(/\.[^.]+$/, '');
}

/** Returns a text unchanged, and a number or a truth value in YAML form: `name: 2024` is also a name. */
function scalarText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value : undefined;
}

function scalarTexts(value: JsonValue | undefined): string[] | undefined {
  return Array.isArray(value) ? value.flatMap((one) => scalarText(one) ?? []) : undefined;
}
