import { LOAD_SKILL, type SkillSnapshot, type ToolSnapshot } from '../domain/agent.ts';
import type { ContentItem, ToolCall } from '../domain/content.ts';
import type { RunState } from './state/run-state.ts';

// Shared state: the skills that the model follows.

type OfRun = Pick<RunState, 'snapshot' | 'loadedSkills'>;

/** Notes that the model has read a skill by a call: the skill is active for all later responses. */
export function noteLoadedSkill(state: RunState, { name, arguments: { skill } }: ToolCall): void {
  const { snapshot, loadedSkills = [] } = state;
  if (name !== LOAD_SKILL || typeof skill !== 'string' || snapshot.skills === undefined) return;
  if (!loadedSkills.includes(skill)) state.loadedSkills = [...loadedSkills, skill];
}

/** Returns the active skills of the agent that acts: those that have been active since its start, and those that the model has loaded. */
export function activeSkills({ snapshot: { skills = [] }, loadedSkills = [] }: OfRun): SkillSnapshot[] {
  return skills.filter(({ name, active }) => active || loadedSkills.includes(name));
}

/**
 * Returns the reason why an active skill does not allow a call: each one only narrows, so a tool must be allowed by all of them. The
 * tools that read skills, and the transfer to another agent, are always allowed.
 */
export function narrowedBySkill(run: OfRun, { name, ofSkills, handoff }: ToolSnapshot): string | undefined {
  if (run.snapshot.skills === undefined || ofSkills || handoff) return undefined;
  const skill = activeSkills(run).find(({ allowedTools }) => allowedTools !== undefined && !allowedTools.includes(name));
  if (skill === undefined) return undefined;
  const allowed = skill.allowedTools?.map((tool) => `"${tool}"`).join(', ');
  return `the skill "${skill.name}" is active, and allows ${allowed ? `only ${allowed}` : 'no tools'}`;
}

/** True for the text of a skill, in a run that has skills: a compaction takes it out last. */
export function isSkillText({ skills }: RunState['snapshot'], item: ContentItem): boolean {
  return skills !== undefined && item.type === 'tool_result' && item.name === LOAD_SKILL && item.status === 'success';
}

/** Returns the line of a summary that names the loaded skills, whose texts may be summarised away. An empty text if there are none. */
export function loadedSkillsLine(run: OfRun): string {
  const names = activeSkills(run).flatMap(({ name, active }) => (active ? [] : [name]));
  return names.length === 0
    ? ''
    : `\nLoaded skills, which still hold: ${names.join(', ')}. Read one again with ${LOAD_SKILL} if its text is gone.`;
}
