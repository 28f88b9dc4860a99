import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { SkillSource } from '../../src/define/skills/skill-sources.ts';
import { parseSkill, SKILL_FILE } from './parse-skill.ts';
import { readFolders, refused, type SkillFiles } from './read-folders.ts';
import { type RegisteredSkill, SkillRegistry } from './skill-registry.ts';

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
