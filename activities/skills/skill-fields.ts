import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { skillsCatalog, skillsPrompt } from '../../src/core/domain/skills/skill.ts';
import type { SkillSnapshot } from '../../src/core/domain/skills/skill-snapshot.ts';
import { skillTools } from '../../src/core/domain/skills/skill-tools.ts';
import { OutputStore } from '../programs/output-store.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { storedId } from './skill-tool.ts';
import type { LoadedSkill } from './worker-skills.ts';

/** The part of the snapshot of an agent that its skills make. */
export interface SkillFields {
  fields: Pick<AgentSnapshot, 'skills'>;
  tools: ToolSnapshot[];
  /** The list of the skills, and the texts of those that are active from the start. */
  instructions: string[];
}

/**
 * Pins the skills of an agent for a run with this input: those that are always active, and those whose predicate is true, are active from
 * its start. The files of all of them go to the payload store of the worker, if it has one.
 */
export async function pinSkills(
  { skills, payloadStore }: Pick<ActivityRuntime, 'skills' | 'payloadStore'>,
  agentName: string,
  input: () => Promise<string>,
): Promise<SkillFields> {
  const registry = skills.of(agentName);
  const { all } = registry;
  if (all.length === 0) return { fields: {}, tools: [], instructions: [] };
  const text = all.some(({ match }) => match !== undefined) ? await input() : '';
  for (const { name, activation } of all) if (activation === 'auto') registry.activate(name);
  for (const { name } of registry.match(text)) registry.activate(name);
  const active = new Set(registry.active.map(({ name }) => name));
  const store = payloadStore === undefined ? undefined : new OutputStore(payloadStore);
  const pinned = await Promise.all(all.map((skill) => pinnedSkill(skill, active.has(skill.name), store)));
  const prompt = skillsPrompt(registry.active);
  const instructions = [skillsCatalog(all), ...(prompt === undefined ? [] : [prompt])];
  return { fields: { skills: pinned }, tools: skillTools(pinned), instructions };
}

async function pinnedSkill(skill: LoadedSkill, active: boolean, store: OutputStore | undefined): Promise<SkillSnapshot> {
  const { name, description, digest, allowedTools, instructions, texts } = skill;
  return {
    name,
    description,
    digest,
    ...(store === undefined ? {} : { stored: await store.put(storedId(name), { instructions, texts }) }),
    ...(allowedTools === undefined ? {} : { allowedTools }),
    ...(active ? { active: true } : {}),
  };
}
