import { parseSkill, type RegisteredSkill, SkillRegistry } from '../../../activities/skills/worker-skills.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { DEFAULT_PRIORITY, type Skill, skillsPrompt } from '../../../src/core/domain/skills.ts';
import { list, number, object, only, type Operation, text } from './adapter.ts';

const SKILL_KEYS = ['name', 'description', 'tags', 'group', 'instructions', 'activation', 'allowed_tools', 'priority', 'on_match_contains'];

/** The content of a file with a skill. */
export const parseSkillFile: Operation = {
  input: ['text', 'path'],
  expect: ['skill', 'error'],
  perform({ text: content, path }: JsonObject): JsonObject {
    const parsed = parseSkill(text(content), path === undefined ? undefined : text(path));
    return parsed.ok ? { skill: toFields(parsed.skill) } : { error: true };
  },
};

/** The skills that an input activates. */
export const matchSkills: Operation = {
  input: ['skills', 'text'],
  expect: ['matched'],
  perform({ skills, text: input }: JsonObject): JsonObject {
    return { matched: namesOf(registryOf(skills).match(text(input))) };
  },
};

/** Skills that become active and inactive, alone and by group. */
export const changeSkills: Operation = {
  input: ['skills', 'do'],
  expect: ['active', 'by_group', 'by_tag'],
  perform({ skills, do: steps }: JsonObject): JsonObject {
    const registry = registryOf(skills);
    for (const step of list(steps)) {
      for (const [what, value] of Object.entries(object(step))) change(registry, what, text(value));
    }
    const groups = new Set(registry.all.flatMap(({ group }) => group ?? []));
    const tags = new Set(registry.all.flatMap((skill) => skill.tags));
    return {
      active: namesOf(registry.active),
      by_group: Object.fromEntries([...groups].map((group) => [group, namesOf(registry.byGroup(group))])),
      by_tag: Object.fromEntries([...tags].map((tag) => [tag, namesOf(registry.byTag(tag))])),
    };
  },
};

/** The part of the prompt for active skills. */
export const promptOfSkills: Operation = {
  input: ['active'],
  expect: ['text'],
  perform({ active }: JsonObject): JsonObject {
    const registry = registryOf(active);
    for (const { name } of registry.all) registry.activate(name);
    return { text: skillsPrompt(registry.active) ?? null };
  },
};

function change(registry: SkillRegistry, what: string, value: string): void {
  switch (what) {
    case 'activate':
      return registry.activate(value);
    case 'deactivate':
      return registry.deactivate(value);
    case 'activate_group':
      return registry.activateGroup(value);
    case 'deactivate_group':
      return registry.deactivateGroup(value);
    default:
      throw new Error(`A case does "${what}" to skills, which is not known`);
  }
}

function registryOf(skills: JsonValue | undefined): SkillRegistry {
  return new SkillRegistry(list(skills).map(toSkill));
}

function toSkill(given: JsonValue): RegisteredSkill {
  const fields = only('A skill', given, SKILL_KEYS);
  const contains = fields['on_match_contains'];
  return {
    name: text(fields['name']),
    description: text(fields['description'], ''),
    tags: list(fields['tags']).map((tag) => text(tag)),
    ...(fields['group'] === undefined ? {} : { group: text(fields['group']) }),
    source: 'inline',
    instructions: text(fields['instructions'], ''),
    activation: fields['activation'] === 'auto' ? 'auto' : 'manual',
    priority: number(fields['priority'], DEFAULT_PRIORITY),
    ...(contains === undefined ? {} : { match: (input: string) => input.includes(text(contains)) }),
  };
}

function toFields(skill: Skill): JsonObject {
  const { name, description, tags, group, source, path, instructions, activation, allowedTools, priority, modelOverride } = skill;
  return {
    name,
    description,
    tags,
    group: group ?? null,
    source,
    source_ref: path ?? null,
    instructions,
    activation,
    allowed_tools: allowedTools ?? null,
    priority,
    model_override: modelOverride ?? null,
  };
}

function namesOf(skills: readonly Skill[]): string[] {
  return skills.map(({ name }) => name);
}
