import { LOAD_SKILL, SKILL_TOOLS } from '../core/domain/agent.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { type AgentOptionsAround, type AgentPart, type BundledPart, mergedList } from './agent-part.ts';
import { nonEmpty, requireKnown } from './option-checks.ts';

/** The members of `URL` that every runtime has. */
export interface FileUrl {
  /** The full URL, such as `file:///app/skills`. */
  readonly href: string;
  /** `file:`. */
  readonly protocol: string;
}

/** The folder of a skill, or of several skills, and the inputs for which they are active from the start of a run. */
export interface SkillFolder {
  /** The path, relative to the working directory of the worker, or a `file:` URL. */
  path: string | FileUrl;
  /** Called by the worker with the text of the input of a run: true makes the skills of the folder active at its start. */
  match?: (input: string) => boolean;
}

/** The agent option `skills`: folders with a `SKILL.md`, and folders of such folders. */
export type SkillsOption = readonly (string | FileUrl | SkillFolder)[];

/** A folder as the worker reads it. */
export interface SkillSource {
  /** A path, or a `file:` URL. */
  path: string;
  /** Returns true if the skills of the folder are active from the start of a run with this input. Absent: never. */
  match?: (input: string) => boolean;
}

/** The agent option for skills. */
export interface AgentSkills {
  /**
   * Folders with a `SKILL.md`, and folders of such folders. Each request lists the names and descriptions of the skills, and the model
   * reads the rest with `load_skill` and `read_skill_file`. The worker reads the folders when it starts. A package refers to its own
   * folder with `new URL('./skills', import.meta.url)`.
   */
  skills?: SkillsOption;
}

/** The agent field that holds its skills. */
export interface SkillFields {
  /** The folders of its skills. Absent: none. */
  readonly skills?: readonly SkillSource[];
}

/** Skills as a part of an agent. */
export const skillPart: AgentPart<AgentSkills, SkillFields> = {
  options: { skills: ['list of folders', 'none', 'folders with [skills](skills.md)'] },
  define(owner, options) {
    const skills = skillSources(owner, options);
    return skills.length === 0 ? {} : { skills };
  },
  toolNames: ({ skills = [] }) => (skills.length === 0 ? [] : SKILL_TOOLS),
};

/** The skills that a bundle brings. */
export interface BundledSkills {
  /** Skills that are added. */
  readonly skills: SkillsOption;
}

/** Skills as a part of bundles. */
export const bundledSkills: BundledPart<AgentSkills, BundledSkills> = {
  options: { skills: true },
  define(owner, { skills = [] }) {
    skillSources(owner, { skills });
    return { skills };
  },
  merge: (owner, own, bundles) => defined({ skills: mergedList(owner, own.skills, bundles, { of: ({ skills }) => skills }) }),
};

/** Throws a UsageError for an entry that is not a path or URL. The worker checks the contents of the folders. */
function skillSources(owner: string, { skills = [], tools = [], replyFormat }: AgentSkills & AgentOptionsAround): SkillSource[] {
  if (!Array.isArray(skills)) throw new UsageError(`${owner}: "skills" is not a list: write ["./skills"]`);
  const sources = skills.map((one: SkillsOption[number]) => sourceOf(owner, one));
  if (sources.length === 0) return [];
  const taken = tools.find(({ name }) => SKILL_TOOLS.includes(name));
  if (taken !== undefined) {
    throw new UsageError(`${owner} has a tool named "${taken.name}", which its "skills" give it: give the tool another name`);
  }
  if (replyFormat === 'code') {
    throw new UsageError(`${owner} answers in code, which cannot call ${LOAD_SKILL}: leave "skills" or "replyFormat" out`);
  }
  return sources;
}

function sourceOf(owner: string, given: SkillsOption[number]): SkillSource {
  if (typeof given === 'string' || isUrl(given)) return { path: pathOf(owner, given) };
  const what = `${owner}: an entry of "skills"`;
  if (typeof given !== 'object' || given === null)
    throw new UsageError(`${what} is neither a path nor {path, match}: write "./skills/refunds"`);
  requireKnown(what, given, { path: true, match: true });
  const { path, match } = given;
  if (match !== undefined && typeof match !== 'function') throw new UsageError(`${what}: "match" is not a function of the input`);
  return { path: pathOf(owner, path), ...defined({ match }) };
}

function isUrl(given: unknown): given is FileUrl {
  return typeof given === 'object' && given !== null && 'href' in given && 'protocol' in given;
}

function pathOf(owner: string, path: unknown): string {
  if (!isUrl(path)) return nonEmpty(`${owner}: a path in "skills"`, path);
  if (path.protocol === 'file:') return path.href;
  throw new UsageError(`${owner}: "skills" names ${path.href}, which is not a file URL: skills are folders of the worker`);
}
