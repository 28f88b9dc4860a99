import { LOAD_SKILL, type SkillSnapshot } from '../domain/agent.ts';
import type { ContentItem, ToolCall } from '../domain/content.ts';
import type { JsonObject } from '../domain/json.ts';
import { listOf, TEXT } from '../domain/shape.ts';
import type { Capability, NarrowedTool } from '../kernel/capability.ts';
import { type RunState, slice } from '../kernel/run-state.ts';

// Capability: instructions that the model reads when it needs them.

type OfRun = Pick<RunState, 'snapshot' | 'slices'>;

/** The names of the skills that the model has loaded, in order. */
const loaded = slice<string[]>('loadedSkills', listOf(TEXT));

/** Records that a call with these arguments has loaded a skill for the model: the skill is active for all later responses. */
function noteLoaded(run: OfRun, { name }: ToolCall, { skill }: JsonObject): void {
  if (name !== LOAD_SKILL || typeof skill !== 'string' || run.snapshot.skills === undefined) return;
  const names = loaded.of(run) ?? [];
  if (!names.includes(skill)) loaded.set(run, [...names, skill]);
}

/** Returns the current agent's active skills: those active from the start, and those that the model has loaded. */
export function activeSkills(run: OfRun): SkillSnapshot[] {
  const { skills = [] } = run.snapshot;
  const names = loaded.of(run) ?? [];
  return skills.filter(({ name, active }) => active || names.includes(name));
}

/**
 * Returns the reason why an active skill does not allow a call. Each skill only narrows, so all of them must allow a tool. The tools that
 * read skills and the transfer to another agent are always allowed.
 */
function narrowed(run: OfRun, { name, ofSkills, handoff }: NarrowedTool): string | undefined {
  if (run.snapshot.skills === undefined || ofSkills || handoff) return undefined;
  const skill = activeSkills(run).find(({ allowedTools }) => allowedTools !== undefined && !allowedTools.includes(name));
  if (skill === undefined) return undefined;
  const allowed = skill.allowedTools?.map((tool) => `"${tool}"`).join(', ');
  return `the skill "${skill.name}" is active, and allows ${allowed ? `only ${allowed}` : 'no tools'}`;
}

/** True for the text of a skill in a run with skills. */
function isSkillText({ snapshot }: OfRun, item: ContentItem): boolean {
  return snapshot.skills !== undefined && item.type === 'tool_result' && item.name === LOAD_SKILL && item.status === 'success';
}

/** Returns the line that names the loaded skills, whose texts a summary may have dropped. */
function loadedLine(run: OfRun): string {
  const names = activeSkills(run).flatMap(({ name, active }) => (active ? [] : [name]));
  return names.length === 0
    ? ''
    : `\nLoaded skills, which still hold: ${names.join(', ')}. Read one again with ${LOAD_SKILL} if its text is gone.`;
}

export const skills: Capability = {
  name: 'skills',
  slices: [loaded],
  narrowsTool: narrowed,
  callRecorded(state, call, { arguments: args, isError }) {
    if (!isError) noteLoaded(state, call, args);
  },
  isEvictedLast: isSkillText,
  endOfSummary: loadedLine,
  conversationCleared: (state) => loaded.clear(state),
};
