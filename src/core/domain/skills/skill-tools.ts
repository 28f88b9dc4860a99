import type { ToolSnapshot } from '../agent/agent-snapshot.ts';
import { DEFAULT_POLICY } from '../agent/tool-policy.ts';
import type { JsonObject } from '../json/json.ts';
import { LOAD_SKILL, READ_SKILL_FILE, type SkillSnapshot } from './skill-snapshot.ts';

/** Returns the tools by which the model reads these skills. Code does not call them: what they give is for the model. */
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
  return {
    name,
    description,
    parameters,
    strict: false,
    schema: parameters,
    parallel: true,
    timeoutMs: DEFAULT_POLICY.timeoutMs,
    maxAttempts: DEFAULT_POLICY.maxAttempts,
    callers: ['model'],
    category: 'read',
    ofSkills: true,
  };
}
