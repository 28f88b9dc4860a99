import type { Skill } from '../../src/core/domain/skills/skill.ts';

/** A skill with the inputs for which it is active. */
export interface RegisteredSkill extends Skill {
  match?: (input: string) => boolean;
}

/** The skills of an agent, by name, group and tag, and those of them that are active. The rules are those of Nous (`nous-context-and-dependencies`). */
export class SkillRegistry<Registered extends RegisteredSkill = RegisteredSkill> {
  readonly #skills = new Map<string, Registered>();
  readonly #active = new Set<string>();

  constructor(skills: Iterable<Registered> = []) {
    for (const skill of skills) this.#skills.set(skill.name, skill);
  }

  /** Returns all skills, those with the lowest priority first. */
  get all(): Registered[] {
    return byPriority([...this.#skills.values()]);
  }

  /** Returns the active skills, those with the lowest priority first. */
  get active(): Registered[] {
    return this.all.filter(({ name }) => this.#active.has(name));
  }

  get(name: string): Registered | undefined {
    return this.#skills.get(name);
  }

  byGroup(group: string): Registered[] {
    return [...this.#skills.values()].filter((skill) => skill.group === group);
  }

  byTag(tag: string): Registered[] {
    return [...this.#skills.values()].filter(({ tags }) => tags.includes(tag));
  }

  /** Makes a skill active. Does nothing for a name that no skill has. */
  activate(name: string): void {
    if (this.#skills.has(name)) this.#active.add(name);
  }

  deactivate(name: string): void {
    this.#active.delete(name);
  }

  activateGroup(group: string): void {
    for (const { name } of this.byGroup(group)) this.activate(name);
  }

  deactivateGroup(group: string): void {
    for (const { name } of this.byGroup(group)) this.deactivate(name);
  }

  /** Returns the skills whose predicate is true for an input. Words of a description activate no skill. A predicate that throws is false. */
  match(input: string): Registered[] {
    return this.all.filter(({ match }) => {
      try {
        return match?.(input) === true;
      } catch {
        return false;
      }
    });
  }
}

function byPriority<Registered extends Skill>(skills: Registered[]): Registered[] {
  return skills.toSorted((one, other) => one.priority - other.priority);
}
