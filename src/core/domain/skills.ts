import { LOAD_SKILL, READ_SKILL_FILE, type SkillSnapshot, suppliedTool, type ToolSnapshot } from './agent.ts';
import type { JsonObject } from './json.ts';

/** How a skill becomes active: only by a call of `load_skill`, or also at the start of each run. */
type SkillActivation = 'manual' | 'auto';

/**
 * The content of a `SKILL.md`: the fields of its front matter, and its text. The fields and their defaults are the same as in Nous
 * (`nous-context-and-dependencies`).
 */
export interface Skill {
  name: string;
  description: string;
  tags: string[];
  group?: string;
  /** `file`: read from a file. `inline`: given as fields. */
  source: 'file' | 'inline';
  /** The path of its file, if known. */
  path?: string;
  /** The text below the front matter. */
  instructions: string;
  activation: SkillActivation;
  /** The names of the tools that may be called while the skill is active. Absent: all. */
  allowedTools?: string[];
  /** Skills with lower values come first. */
  priority: number;
  /** The model that the skill's author recommends. It is shown, but not applied. */
  modelOverride?: string;
}

/** The default priority of a skill. */
export const DEFAULT_PRIORITY = 100;

const RULE_LINE = '\n\n---\n\n';

/** Returns the part of a prompt for active skills, in order: one block each, joined by a rule line. Undefined if no skill has a text. */
export function skillsPrompt(skills: readonly Pick<Skill, 'name' | 'instructions'>[]): string | undefined {
  const blocks = skills.filter(({ instructions }) => instructions !== '').map(skillBlock);
  return blocks.length === 0 ? undefined : blocks.join(RULE_LINE);
}

/** Returns the text of one skill as the model reads it. */
export function skillBlock({ name, instructions }: Pick<Skill, 'name' | 'instructions'>): string {
  return `## Skill: ${name}\n\n${instructions}`;
}

/** Returns the part of a prompt that lists the skills of an agent. */
export function skillsCatalog(skills: readonly Pick<Skill, 'name' | 'description'>[]): string {
  return [
    'Skills are instructions for special tasks. Before you begin a task that one of them is about, read it with load_skill. The skills:',
    ...skills.map(({ name, description }) => `- ${name}: ${description}`),
  ].join('\n');
}

/** Returns the tools that the model uses to read these skills. Code cannot call them: their results are meant for the model. */
export function skillTools(skills: readonly Pick<SkillSnapshot, 'name'>[]): ToolSnapshot[] {
  if (skills.length === 0) return [];
  const skill = { type: 'string', enum: skills.map(({ name }) => name), description: 'The name of the skill.' };
  const path = { type: 'string', description: 'The path of the file in the folder of the skill, as load_skill lists it.' };
  const from = { type: 'integer', minimum: 0, description: 'The character to begin at, for a long file. Default 0.' };
  return [
    skillTool(LOAD_SKILL, 'Reads a skill: instructions for a special task, which you follow from then on.', { skill }),
    skillTool(READ_SKILL_FILE, 'Reads a file of a skill.', { skill, path, from }, ['skill', 'path']),
  ];
}

function skillTool(name: string, description: string, properties: JsonObject, required = Object.keys(properties)): ToolSnapshot {
  const parameters = { type: 'object', properties, required, additionalProperties: false };
  return { ...suppliedTool(name, description, parameters), category: 'read', ofSkills: true };
}
