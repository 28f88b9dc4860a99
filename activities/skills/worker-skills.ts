import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorMessage, UsageError } from '../../src/core/domain/errors/error.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { Skill } from '../../src/core/domain/skills/skill.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { SkillSource } from '../../src/define/skills/skill-sources.ts';
import { parseSkill, SKILL_FILE } from './parse-skill.ts';

/** A skill as the worker has read it. */
export interface LoadedSkill extends RegisteredSkill {
  /** SHA-256 over the paths and contents of all files, as hex. */
  digest: string;
  /** The texts of the files by their paths. A file that is no text is null. */
  texts: Record<string, string | null>;
}

/** Bytes of JSON that the instructions may have: the model reads them as one result, with a line or two about them. */
const MAX_INSTRUCTIONS_BYTES = BYTE_BUDGETS.toolResult - 8_000;

/** The most characters of a description, which every request contains: those of the Agent Skills specification. */
const MAX_DESCRIPTION = 1_024;

/** Names of the Agent Skills specification (letters, digits and single hyphens), and also those with `_`, `.` and capitals. */
const NAME = /^(?!.*--)[\p{L}\p{N}_.](?:[\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}_.])?$/u;

/** The skills of the agents of a worker, read when the worker starts. */
export class WorkerSkills {
  readonly #byAgent = new Map<string, readonly LoadedSkill[]>();

  /** Throws a UsageError with path and rule for a folder that cannot be used. */
  constructor(agents: readonly Pick<AnyAgent, 'name' | 'skills'>[]) {
    for (const { name, skills = [] } of agents) if (skills.length > 0) this.#byAgent.set(name, loadSkills(`agent "${name}"`, skills));
  }

  /** Returns the skills of an agent, of which none is active yet. */
  of(agentName: string): SkillRegistry<LoadedSkill> {
    return new SkillRegistry(this.#byAgent.get(agentName));
  }
}

function loadSkills(owner: string, sources: readonly SkillSource[]): LoadedSkill[] {
  const skills = new Map<string, { skill: LoadedSkill; folder: string }>();
  for (const { path, match } of sources) {
    for (const read of readFolders(owner, path)) {
      const skill = { ...loadSkill(owner, read), ...(match === undefined ? {} : { match }) };
      const other = skills.get(skill.name);
      if (other !== undefined)
        throw refused(owner, read.folder, `its name is "${skill.name}", as that of ${other.folder}: give it another one`);
      skills.set(skill.name, { skill, folder: read.folder });
    }
  }
  return [...skills.values()].map(({ skill }) => skill);
}

function loadSkill(owner: string, { folder, files }: SkillFiles): LoadedSkill {
  const path = `${folder}/${SKILL_FILE}`;
  const texts = Object.fromEntries([...files].map(([name, content]) => [name, isUtf8(content) ? content.toString('utf8') : null]));
  const text = texts[SKILL_FILE];
  if (typeof text !== 'string') throw refused(owner, path, 'it is no text in UTF-8');
  const parsed = parseSkill(text, path);
  if (!parsed.ok) throw refused(owner, path, parsed.problem);
  const { lines, isUnclosed } = parsed;
  // The list of the skills has one line for each.
  const description = parsed.skill.description.replaceAll(/\s+/g, ' ').trim();
  const skill = { ...parsed.skill, description };
  const { name, instructions } = skill;
  const on = (field: string): string => (lines.has(field) ? ` (line ${lines.get(field)})` : '');
  if (isUnclosed) throw refused(owner, path, 'its front matter does not end: write a line "---" below its fields');
  if (!NAME.test(name)) {
    const rule = 'use up to 64 letters, digits, "_", "-" and ".", without "-" at an end and "--"';
    throw refused(owner, path, `its name is ${JSON.stringify(name)}: ${rule}${on('name')}`);
  }
  if (description === '') {
    throw refused(
      owner,
      path,
      `"description" is to be a text by which the model finds the skill, and is missing or empty${on('description')}`,
    );
  }
  if (description.length > MAX_DESCRIPTION) {
    const length = `"description" has ${description.length} characters, more than ${MAX_DESCRIPTION}`;
    throw refused(owner, path, `${length}: move a part of it below the front matter${on('description')}`);
  }
  const bytes = jsonBytes(instructions);
  if (bytes > MAX_INSTRUCTIONS_BYTES) {
    throw refused(
      owner,
      path,
      `its text has ${bytes} bytes of JSON, more than ${MAX_INSTRUCTIONS_BYTES}: move parts of it to other files of the folder`,
    );
  }
  return { ...skill, digest: digestOf(files), texts };
}

function digestOf(files: ReadonlyMap<string, Buffer>): string {
  const hash = createHash('sha256');
  for (const [path, content] of files) hash.update(`${JSON.stringify(path)} ${createHash('sha256').update(content).digest('hex')}\n`);
  return hash.digest('hex');
}

/** A skill with the inputs for which it is active. */
export interface RegisteredSkill extends Skill {
  match?: (input: string) => boolean;
}

/** The skills of an agent, by name, group and tag, and those of them that are active. The rules are those of Nous (`nous-context-and-dependencies`). */
export class SkillRegistry<Registered extends RegisteredSkill = RegisteredSkill> {
  readonly #skills = new Map<string, Registered>();
  readonly #active = new Set<string>();

  constructor(skills: Iterable<Registered> = []) {
    for (const skill of skills) this.#skills.set(skill.name, skill);
  }

  /** Returns all skills, those with the lowest priority first. */
  get all(): Registered[] {
    return byPriority([...this.#skills.values()]);
  }

  /** Returns the active skills, those with the lowest priority first. */
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

  /** Makes a skill active. Does nothing for a name that no skill has. */
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

  /** Returns the skills whose predicate is true for an input. Words of a description activate no skill. A predicate that throws is false. */
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

/** The files of one skill by their paths in its folder, with `/` between the names. */
interface SkillFiles {
  /** The path of the folder, for messages. */
  folder: string;
  files: Map<string, Buffer>;
}

/**
 * Reads the skills below a path: the folder itself if it has a `SKILL.md`, otherwise all folders below it that have one. Symbolic links
 * are not followed, and not part of a skill. Throws a UsageError with the path and the rule if there is none, or one is too large.
 */
function readFolders(owner: string, path: string): SkillFiles[] {
  const root = resolve(path.startsWith('file:') ? fileURLToPath(path) : path);
  const paths = filesBelow(owner, root);
  const folders = paths.filter((file) => file.endsWith(`${sep}${SKILL_FILE}`)).map((file) => file.slice(0, -SKILL_FILE.length - 1));
  // A skill inside the folder of another one belongs to that one.
  const outermost = folders.filter((folder) => !folders.some((other) => other !== folder && folder.startsWith(other + sep)));
  if (outermost.length === 0) throw refused(owner, root, `it has no ${SKILL_FILE}, and neither has a folder in it`);
  return outermost.toSorted().map((folder) => ({
    folder,
    files: new Map(
      paths
        .filter((file) => file.startsWith(folder + sep))
        .map((file): [string, Buffer] => [relative(folder, file).split(sep).join('/'), contentOf(owner, file)])
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
      if (files.length > MAX_SKILL_FILES) throw refused(owner, root, `it has more than ${MAX_SKILL_FILES} files`);
    }
  }
  return files;
}

function entriesOf(owner: string, folder: string): { name: string; isDirectory(): boolean; isFile(): boolean }[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    throw refused(owner, folder, `it cannot be read as a folder: ${errorMessage(error)}`);
  }
}

function contentOf(owner: string, file: string): Buffer {
  const { size } = lstatSync(file);
  if (size > MAX_SKILL_FILE_BYTES) throw refused(owner, file, `it has ${size} bytes, more than ${MAX_SKILL_FILE_BYTES}`);
  return readFileSync(file);
}

/** Returns the error for a path of `skills` that cannot be used. */
function refused(owner: string, path: string, problem: string): UsageError {
  return new UsageError(`${owner}: "skills": ${path}: ${problem}`);
}
