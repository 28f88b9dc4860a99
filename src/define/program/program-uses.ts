import { UsageError } from '../../core/domain/errors.ts';
import type { ProgramUses } from './program-definition.ts';

/** The uses of a step that was given no definition. */
export const NO_USES: ProgramUses = { tools: [], agents: [], programs: [] };

/** Joins what several steps use. Throws a UsageError that begins with `owner` if two definitions of a kind have the same name. */
export function joinUses(owner: string, uses: readonly ProgramUses[]): ProgramUses {
  return {
    tools: byName(
      owner,
      'tools',
      uses.flatMap(({ tools }) => tools),
    ),
    agents: byName(
      owner,
      'agents',
      uses.flatMap(({ agents }) => agents),
    ),
    programs: byName(
      owner,
      'programs',
      uses.flatMap(({ programs }) => programs),
    ),
  };
}

function byName<Definition extends { name: string }>(owner: string, noun: string, definitions: readonly Definition[]): Definition[] {
  const known = new Map<string, Definition>();
  for (const definition of definitions) {
    const other = known.get(definition.name);
    if (other !== undefined && other !== definition) {
      throw new UsageError(`${owner} is given two ${noun} named "${definition.name}": give each its own name`);
    }
    known.set(definition.name, definition);
  }
  return [...known.values()];
}
