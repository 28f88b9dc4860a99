import { LOAD_SKILL, type ReplyFormat, SKILL_TOOLS } from '../core/domain/agent.ts';
import { defined } from '../core/domain/defined.ts';
import { UsageError } from '../core/domain/errors.ts';
import { nonEmpty, requireKnown } from './option-checks.ts';
import type { AnyTool } from './tool-definition.ts';

/** A URL, as every runtime has it. */
interface FileUrl {
  readonly href: string;
  readonly protocol: string;
}

/** The folder of a skill, or of several skills, and the inputs for which they are active from the start of a run. */
export interface SkillFolder {
  /** The path, relative to the working directory of the worker, or a `file:` URL. */
  path: string | FileUrl;
  /** Called by the worker with the text of the input of a run: true makes the skills of the folder active at its start. */
  match?: (input: string) => boolean;
}

/** The value of `skills` of an agent: folders with a `SKILL.md`, and folders of such folders. */
export type SkillsOption = readonly (string | FileUrl | SkillFolder)[];

/** A folder as the worker reads it. */
export interface SkillSource {
  /** A path, or a `file:` URL. */
  path: string;
  match?: (input: string) => boolean;
}

/** The options of an agent that concern its skills. */
interface AgentSkillOptions {
  skills?: SkillsOption;
  tools?: readonly AnyTool[];
  replyFormat?: ReplyFormat;
}

/** Returns the folders of skills of an agent. Throws a UsageError for a value that names none; what is in them, the worker checks. */
export function skillSources(owner: string, { skills = [], tools = [], replyFormat }: AgentSkillOptions): SkillSource[] {
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

/** Returns the names of the tools that skills give to an agent: empty for an agent without skills. */
export function skillToolNames({ skills = [] }: { skills?: readonly unknown[] | undefined }): readonly string[] {
  return skills.length === 0 ? [] : SKILL_TOOLS;
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
  throw new UsageError(`${owner}: "skills" names ${path.href}, which is no file: skills are folders of the worker`);
}
