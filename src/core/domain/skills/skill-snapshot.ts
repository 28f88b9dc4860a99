import type { SpilledContent } from '../content/content.ts';

/** The tool by which the model reads a skill, which is active from then on. */
export const LOAD_SKILL = 'load_skill';

/** The tool by which the model reads a file of a skill. */
export const READ_SKILL_FILE = 'read_skill_file';

/** The tools of an agent that has skills. */
export const SKILL_TOOLS: readonly string[] = [LOAD_SKILL, READ_SKILL_FILE];

/** The content of a skill that a run is pinned to. */
export interface PinnedSkill {
  /** The digest over all files of the skill. */
  digest: string;
  /** The files in the payload store. Absent if the worker has no store. */
  stored?: SpilledContent;
}

/** A skill of an agent, as a run is pinned to it. */
export interface SkillSnapshot extends PinnedSkill {
  name: string;
  description: string;
  /** The names of the tools that may be called while it is active. Absent: all. */
  allowedTools?: string[];
  /** It has been active since the start of the run: its text is part of the instructions. */
  active?: true;
}
