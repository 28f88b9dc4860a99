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

/** The most characters of a description, which every request contains. */
const MAX_DESCRIPTION = 1_000;

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
  const { skill } = parsed;
  const { name, description, instructions } = skill;
  if (!/^[\w.-]{1,64}$/.test(name))
    throw refused(owner, path, `its name is ${JSON.stringify(name)}: use up to 64 letters, digits, "_", "-" and "."`);
  if (description === '' || description.length > MAX_DESCRIPTION || description.includes('\n')) {
    throw refused(
      owner,
      path,
      `"description" is to be one line of at most ${MAX_DESCRIPTION} characters, by which the model finds the skill`,
    );
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
